"""Makes a static embedding model of a contextual one, nearly as Model2Vec does: the last layer of each token by itself, the principal
components, and frequent tokens weighing less.

usage: distil.py MODEL OUT [--dimensions 256]

MODEL is the folder of a sentence-transformers model of the BERT family, with WordPiece (config.json, tokenizer.json, model.safetensors); OUT
is what `atlas model add` takes. Needs numpy and safetensors.
"""

import argparse
import json
import pathlib

import numpy
from safetensors.numpy import load_file, save_file

BATCH = 512
# The weight of a token of probability p is SIF / (SIF + p); by Zipf's law p falls with the rank, which the vocabulary's order is.
SIF = 1e-4


class Bert:
    """The encoder, for sequences of one length without padding."""

    def __init__(self, folder):
        config = json.loads((folder / "config.json").read_text())
        tensors = load_file(folder / "model.safetensors")
        self.weights = {name.removeprefix("bert."): values.astype(numpy.float32) for name, values in tensors.items()}
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        self.epsilon = config["layer_norm_eps"]

    def linear(self, name, values):
        return values @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, name, values):
        values = values - values.mean(-1, keepdims=True)
        values /= numpy.sqrt((values**2).mean(-1, keepdims=True) + self.epsilon)
        return values * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def hidden(self, ids):
        """The last layer of each token of sequences."""
        weights, (count, length) = self.weights, ids.shape
        of = lambda what: weights[f"embeddings.{what}_embeddings.weight"]
        values = of("word")[ids] + of("position")[:length] + of("token_type")[0]
        values = self.norm("embeddings.LayerNorm", values)
        for layer in (f"encoder.layer.{at}" for at in range(self.layers)):
            split = lambda name: (
                self.linear(f"{layer}.attention.self.{name}", values)
                .reshape(count, length, self.heads, -1)
                .transpose(0, 2, 1, 3)
            )
            query, key, value = split("query"), split("key"), split("value")
            scores = query @ key.transpose(0, 1, 3, 2) / numpy.sqrt(query.shape[-1])
            scores = numpy.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True)) @ value
            mixed = self.linear(f"{layer}.attention.output.dense", mixed.transpose(0, 2, 1, 3).reshape(values.shape))
            values = self.norm(f"{layer}.attention.output.LayerNorm", values + mixed)
            inner = gelu(self.linear(f"{layer}.intermediate.dense", values))
            values = self.norm(f"{layer}.output.LayerNorm", values + self.linear(f"{layer}.output.dense", inner))
        return values


def gelu(values):
    """x Φ(x); the error function by Abramowitz and Stegun 7.1.26, which is exact to 1.5e-7."""
    scaled = numpy.abs(values) / numpy.float32(numpy.sqrt(2))
    t = 1 / (1 + 0.3275911 * scaled)
    series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    return values * (1 + numpy.sign(values) * (1 - series * numpy.exp(-(scaled**2)))) / 2


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model", type=pathlib.Path)
    options.add_argument("out", type=pathlib.Path)
    options.add_argument("--dimensions", type=int, default=256)
    options = options.parse_args()
    tokenizer = json.loads((options.model / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    special = {token["content"] for token in tokenizer["added_tokens"]} - {"[UNK]", "[PAD]"}
    kept = [token for token in sorted(vocabulary, key=vocabulary.get) if not token.startswith("[unused") and token not in special]
    bert = Bert(options.model)
    begin, end = vocabulary["[CLS]"], vocabulary["[SEP]"]
    ids = numpy.array([[begin, vocabulary[token], end] for token in kept])
    rows = numpy.concatenate([bert.hidden(ids[at : at + BATCH])[:, 1] for at in range(0, len(ids), BATCH)])
    rows -= rows.mean(0)
    components = numpy.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, : options.dimensions]
    rows = rows @ components
    probabilities = 1 / numpy.arange(2, len(rows) + 2)
    rows *= (SIF / (SIF + probabilities / probabilities.sum()))[:, None]
    tokenizer["model"]["vocab"] = {token: at for at, token in enumerate(kept)}
    tokenizer["added_tokens"] = [
        {**token, "id": kept.index(token["content"])} for token in tokenizer["added_tokens"] if token["content"] in kept
    ]
    # Passages are longer than what the model was made for, and no token stands for their ends.
    tokenizer |= {"truncation": None, "padding": None, "post_processor": None}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "tokenizer.json").write_text(json.dumps(tokenizer))
    save_file({"embeddings": rows.astype(numpy.float32)}, options.out / "model.safetensors")
    (options.out / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))


if __name__ == "__main__":
    main()
