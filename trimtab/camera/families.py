"""The preprocessing of known families of networks, by name. A size in parentheses after the name
replaces that of the network's input: yolo(640).
"""

from __future__ import annotations

FAMILIES = {
    # torchvision's Resize(256), CenterCrop(224), ToTensor, Normalize
    "imagenet": "center_crop(auto, antialias) | rgb | scale(1/255) | mean(0.485, 0.456, 0.406)"
    " | std(0.229, 0.224, 0.225)",
    "yolo": "letterbox(auto, 114) | rgb | scale(1/255)",
    "ssd": "resize(auto) | rgb | mean(127.5) | scale(1/127.5)",
    "mediapipe": "letterbox(auto, 0) | rgb | mean(127.5) | scale(1/127.5)",
    "pp_ocr": "letterbox(auto, 0, top_left) | bgr | scale(1/255) | mean(0.5) | std(0.5)",
}
