"""Compress an image by vector quantization: each block of pixels by the nearest of 32 codes."""

import numpy as np

from credo import KMeans

SIDE, BLOCK, N_CODES = 128, 4, 32


def image() -> np.ndarray:
    """Return a drawn picture, SIDE x SIDE shades of gray between 0 and 1."""
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    sky = 0.9 - 0.4 * y
    sun = np.exp(-(((x - 0.7) ** 2 + (y - 0.3) ** 2) / 0.02))
    hills = y > 0.65 + 0.1 * np.sin(7.0 * x) + 0.04 * np.sin(23.0 * x)
    noise = 0.02 * np.random.default_rng(0).normal(size=(SIDE, SIDE))
    return np.clip(np.where(hills, 0.25 + 0.2 * x, sky - 0.5 * sun) + noise, 0.0, 1.0)


def blocks_of(pixels: np.ndarray) -> np.ndarray:
    """Return the image as rows of BLOCK x BLOCK pixels."""
    n = SIDE // BLOCK
    cut = pixels.reshape(n, BLOCK, n, BLOCK).swapaxes(1, 2)
    return cut.reshape(n * n, BLOCK * BLOCK)


def joined(blocks: np.ndarray) -> np.ndarray:
    """Return the image that rows of pixels were cut from."""
    n = SIDE // BLOCK
    return blocks.reshape(n, n, BLOCK, BLOCK).swapaxes(1, 2).reshape(SIDE, SIDE)


picture = image()
blocks = blocks_of(picture)
model = KMeans(N_CODES, random_state=0).fit(blocks)
codes = model.predict(blocks)
restored = joined(model.cluster_centers_[codes])

bits = len(blocks) * np.log2(N_CODES) + 8 * model.cluster_centers_.size
distortion = float(np.square(picture - restored).sum())
print(f"{8 * picture.size / bits:.1f} times smaller than a byte for each pixel")
print(f"root mean squared error {np.sqrt(distortion / picture.size):.4f}")

# What is lost is the objective of k-means, and more codes lose less.
assert np.isclose(distortion, model.inertia_)
assert np.allclose(restored, joined(model.quantize(blocks)))
assert np.sqrt(distortion / picture.size) < 0.05
assert KMeans(2 * N_CODES, random_state=0).fit(blocks).inertia_ < model.inertia_
