"""Trains LeNet from random weights on drawn digits: `python examples/digits/train.py`."""

from __future__ import annotations

import numpy as np
from digits import draw, lenet, weights

import trimtab

BATCH, STEPS = 64, 300

solver = trimtab.Solver(
    "sgd", rate=0.01, momentum=0.9, weight_decay=0.0005, policy="inv", gamma=0.0001, power=0.75
)
network = trimtab.load(lenet(BATCH, weights(seed=1)))
trainer = trimtab.Trainer(trimtab.training(network, loss="softmax", optimizer=solver))

images, labels = draw(4096, seed=1)
for step in range(STEPS):
    batch = np.arange(step * BATCH, (step + 1) * BATCH) % len(images)
    loss = trainer.step({"data": images[batch], "label": labels[batch]})
    if step % 50 == 0:
        print(f"step {step}: loss {loss:.3f}")

test_images, test_labels = draw(1024, seed=2)
session = trimtab.Session(trainer.network())
correct = 0
for i in range(0, len(test_images), BATCH):
    scores = session.run({"data": test_images[i : i + BATCH]})["ip2"]
    correct += int(np.sum(scores.argmax(1) == test_labels[i : i + BATCH]))
print(f"accuracy on {len(test_images)} other digits: {correct / len(test_images):.1%}")
trainer.network().save("lenet.ttm")
