"""ncnn's numbers of parameters, and of the values of some: importer and exporter read them here.

Source, also of the names: https://github.com/Tencent/ncnn/blob/master/docs/developer-guide/
operators.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_WINDOW = (
    "num_output kernel_w dilation_w stride_w pad_left bias_term weight_data_size group"
    " int8_scale_term activation_type activation_params"
    " kernel_h dilation_h stride_h pad_top pad_right pad_bottom"
)
_CONVOLUTION = f"{_WINDOW} pad_value=18 dynamic_weight"
_DECONVOLUTION = (
    f"{_WINDOW} output_pad_right=18 output_pad_bottom output_w output_h dynamic_weight=28"
)

# The parameters of layer types in the order of their numbers: as in an enumeration of C, a number
# is the previous one plus 1 unless it is stated. Behind some are the names of their values, from 0
# on: the pad_mode "full" rounds the size of the result up, and "r" stands for exchanged operands.
_LAYERS = {
    "ArgMax": "out_max_val topk",
    "BatchNorm": "channels eps",
    "Bias": "bias_data_size",
    "BinaryOp": "op_type(add,sub,mul,div,max,min,pow,rsub,rdiv,rpow,atan2,ratan2) with_scalar b",
    "CELU ELU": "alpha",
    "Clip": "min max",
    "Concat": "axis",
    "Convolution Convolution1D ConvolutionDepthWise ConvolutionDepthWise1D": _CONVOLUTION,
    "CopyTo Crop": (
        "woffset hoffset coffset outw outh outc woffset2 hoffset2 coffset2 starts ends axes"
        " doffset=13 outd doffset2 starts_expr=19 ends_expr axes_expr"
    ),
    "CumulativeSum": "axis",
    "Deconvolution Deconvolution1D DeconvolutionDepthWise DeconvolutionDepthWise1D": _DECONVOLUTION,
    "DeformableConv2D Unfold": _CONVOLUTION,
    "DetectionOutput": (
        "num_class nms_threshold nms_top_k keep_top_k confidence_threshold"
        " variance_0 variance_1 variance_2 variance_3"
    ),
    "Diag": "diagonal",
    "Dropout": "scale",
    "Einsum": "equation",
    "Eltwise": "op_type(mul,add,max) coeffs",
    "Exp Log": "base scale shift",
    "ExpandDims": "axes=3",
    "Flip": "axes",
    "Fold": _DECONVOLUTION,
    "GELU": "fast_gelu",
    "GLU": "axis",
    "GRU LSTM RNN": (
        "num_output weight_data_size direction(forward,reverse,both) hidden_size int8_scale_term=8"
    ),
    "Gemm": (
        "alpha beta transA transB constantA constantB constantC constantM constantN constantK"
        " constant_broadcast_type_C output_N1M output_elempack output_elemtype output_transpose"
        " int8_scale_term=18 constant_TILE_M=20 constant_TILE_N constant_TILE_K"
    ),
    "GridSample": (
        "sample_type(,linear,nearest,cubic) padding_mode(,zeros,border,reflection) align_corner"
        " permute_fusion"
    ),
    "GroupNorm": "group channels eps affine",
    "HardSigmoid HardSwish": "alpha beta",
    "InnerProduct": (
        "num_output bias_term weight_data_size int8_scale_term=8 activation_type activation_params"
    ),
    "Input MemoryData Reshape": "w h c shape_expr=6 d=11 load_type=21",
    "InstanceNorm": "channels eps affine",
    "Interp": (
        "resize_type(,nearest,linear,cubic) height_scale width_scale output_height output_width"
        " dynamic_target_size align_corner size_expr=9"
    ),
    "LRN": "region_type(across,within) local_size alpha beta bias",
    "LayerNorm RMSNorm": "affine_size eps affine",
    "MVN": "normalize_variance across_channels eps",
    "MatMul": "transB",
    "MultiHeadAttention SDPA": (
        "embed_dim num_heads weight_data_size kdim vdim attn_mask scale kv_cache int8_scale_term=18"
    ),
    "Normalize": "across_spatial channel_shared eps scale_data_size across_channel eps_mode=9",
    "PReLU": "num_slope",
    "PSROIPooling ROIPooling": "pooled_width pooled_height spatial_scale output_dim",
    "Padding": (
        "top bottom left right type(constant,edge,reflect) value per_channel_pad_data_size front"
        " behind"
    ),
    "Permute": "order_type",
    "PixelShuffle": "upscale_factor mode",
    "Pooling Pooling1D": (
        "pooling_type(max,average) kernel_w stride_w pad_left global_pooling"
        " pad_mode(full,valid,same_upper,same_lower) avgpool_count_include_pad"
        " adaptive_pooling out_w kernel_h=11 stride_h pad_top pad_right pad_bottom out_h=18"
    ),
    "Power": "power scale shift",
    "PriorBox": (
        "min_sizes max_sizes aspect_ratios variance_0 variance_1 variance_2 variance_3 flip clip"
        " image_width image_height step_width step_height offset step_mmdetection"
        " center_mmdetection"
    ),
    "Proposal": "feat_stride base_size pre_nms_topN after_nms_topN nms_thresh min_size",
    "ROIAlign": "pooled_width pooled_height spatial_scale sampling_ratio aligned version",
    "ReLU": "slope",
    "Reduction": (
        "operation(sum,l1,sum_square,mean,max,min,prod,l1,l2,log_sum,log_sum_exp)"
        " reduce_all coeff axes keepdims fixbug0"
    ),
    "Reorg": "stride mode",
    "RotaryEmbed": "interleaved",
    "SELU": "alpha lambda",
    "SPP": "pooling_type(max,average) pyramid_height",
    "Scale": "scale_data_size bias_term",
    "Shrink": "bias lambd",
    "ShuffleChannel": "group reverse",
    "Slice": "slices axis indices",
    "Softmax": "axis fixbug0",
    "Squeeze": "squeeze_w squeeze_h squeeze_c axes squeeze_d=11",
    "Threshold": "threshold",
    "Tile": "axis tiles repeats",
    "UnaryOp": (
        "op_type(abs,neg,floor,ceil,square,sqrt,rsqrt,exp,log,sin,cos,tan,asin,acos,atan,"
        "reciprocal,tanh,log10,round,trunc)"
    ),
    "YoloDetectionOutput Yolov3DetectionOutput": (
        "num_class num_box confidence_threshold nms_threshold biases mask anchors_scale"
    ),
}


class Parameter(NamedTuple):
    """The number of a parameter, and the names of its values from 0 on, if they have some."""

    number: int
    values: Sequence[str]


def _parameters(names: str) -> dict[str, Parameter]:
    result: dict[str, Parameter] = {}
    number = 0
    for name, values, stated in re.findall(r"(\w+)(?:\(([^)]*)\))?(?:=(\d+))?", names):
        number = int(stated or number)
        result[name] = Parameter(number, values.split(","))
        number += 1
    return result


PARAMETERS = {
    type: _parameters(names) for types, names in _LAYERS.items() for type in types.split()
}
"""The parameters by layer type and name."""
