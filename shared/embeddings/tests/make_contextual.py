#!/usr/bin/env python3
"""Makes the models and vectors that `contextual.rs` compares with.

    pip install numpy safetensors tokenizers && python3 shared/embeddings/tests/make_contextual.py [FOLDER]

Texts are cut by the tokenizers of Hugging Face, and vectors computed here by numpy, in double precision, as the papers describe BERT. The
models are small and their numbers random. With FOLDER, which is a real model, it prints vectors of that one instead.
"""

import json
import math
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, processors

from make_fixtures import TEXTS, unigram, word_piece

HERE = pathlib.Path(__file__).resolve().parent / "fixtures"
HIDDEN, LAYERS, HEADS, INNER = 8, 2, 2, 16


def erf(x):
    return np.vectorize(math.erf)(x)


ACTIVATIONS = {
    "gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "gelu_new": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: np.maximum(x, 0),
}


def vectors(tensors, config, pooling, ids):
    """The vector of a text of these tokens."""
    prefix = next(p for p in ("", "bert.", "roberta.") if f"{p}embeddings.word_embeddings.weight" in tensors)
    get = lambda name: tensors[prefix + name].astype(np.float64)
    linear = lambda name, x: x @ get(f"{name}.weight").T + get(f"{name}.bias")

    def norm(name, x):
        centred = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + config["layer_norm_eps"])
        return centred / deviation * get(f"{name}.weight") + get(f"{name}.bias")

    first = config["pad_token_id"] + 1 if config["model_type"] == "xlm-roberta" else 0
    state = get("embeddings.word_embeddings.weight")[ids]
    state = state + get("embeddings.position_embeddings.weight")[first : first + len(ids)]
    state = norm("embeddings.LayerNorm", state + get("embeddings.token_type_embeddings.weight")[0])
    heads, size = config["num_attention_heads"], config["hidden_size"] // config["num_attention_heads"]
    split = lambda x: x.reshape(len(ids), heads, size).transpose(1, 0, 2)
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        query, key, value = (split(linear(f"{name}.attention.self.{part}", state)) for part in ("query", "key", "value"))
        weights = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(size))
        weights /= weights.sum(axis=2, keepdims=True)
        mixed = (weights @ value).transpose(1, 0, 2).reshape(len(ids), -1)
        state = norm(f"{name}.attention.output.LayerNorm", linear(f"{name}.attention.output.dense", mixed) + state)
        inner = ACTIVATIONS[config["hidden_act"]](linear(f"{name}.intermediate.dense", state))
        state = norm(f"{name}.output.LayerNorm", linear(f"{name}.output.dense", inner) + state)
    vector = state[0] if pooling.get("pooling_mode_cls_token") else state.mean(axis=0)
    return vector / np.linalg.norm(vector)


def expected(folder, texts):
    read = lambda name: json.loads((folder / name).read_text()) if (folder / name).exists() else {}
    config, pooling, tensors = read("config.json"), read("1_Pooling/config.json"), load_file(folder / "model.safetensors")
    prompts = read("config_sentence_transformers.json").get("prompts") or {}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(read("sentence_bert_config.json")["max_seq_length"])
    found = []
    for text in texts:
        vector = {"text": text}
        for purpose in ("query", "passage"):
            ids = tokenizer.encode((prompts.get(purpose, "") + text).strip()).ids
            vector[purpose] = [round(float(number), 6) for number in vectors(tensors, config, pooling, ids)]
        found.append(vector)
    return found


def write(name, tokenizer, begin, end, pooling, longest, below="", prompts=None, **config):
    random = np.random.default_rng(11)
    folder = HERE / name
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    special = [(token, tokenizer.token_to_id(token)) for token in (begin, end)]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{begin} $A {end}", special_tokens=special)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "model_type": "bert",
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": INNER,
        "max_position_embeddings": longest,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
        **config,
    }
    tensors = {}

    def tensor(name, *shape, mean=0.0):
        tensors[below + name] = random.normal(mean, 0.5, shape).astype(np.float32)

    def norm(name):
        tensor(f"{name}.weight", HIDDEN, mean=1.0)
        tensor(f"{name}.bias", HIDDEN)

    def linear(name, rows, columns):
        tensor(f"{name}.weight", rows, columns)
        tensor(f"{name}.bias", rows)

    # Tables may have more rows than there are tokens.
    tensor("embeddings.word_embeddings.weight", tokenizer.get_vocab_size() + 3, HIDDEN)
    tensor("embeddings.position_embeddings.weight", config["max_position_embeddings"], HIDDEN)
    tensor("embeddings.token_type_embeddings.weight", 2, HIDDEN)
    norm("embeddings.LayerNorm")
    for layer in range(LAYERS):
        layer = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            linear(f"{layer}.attention.{part}", HIDDEN, HIDDEN)
        norm(f"{layer}.attention.output.LayerNorm")
        linear(f"{layer}.intermediate.dense", INNER, HIDDEN)
        linear(f"{layer}.output.dense", HIDDEN, INNER)
        norm(f"{layer}.output.LayerNorm")
    save_file(tensors, folder / "model.safetensors")
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in modules]
    files = {
        "config.json": config,
        "modules.json": modules,
        "1_Pooling/config.json": {f"pooling_mode_{pooling}": True},
        "sentence_bert_config.json": {"max_seq_length": longest - (2 if config["model_type"] != "bert" else 0)},
    }
    if prompts:
        files["config_sentence_transformers.json"] = {"prompts": prompts}
    for file, content in files.items():
        (folder / file).write_text(json.dumps(content, indent=1) + "\n")
    (folder / "expected.json").write_text(json.dumps(expected(folder, TEXTS), ensure_ascii=False) + "\n")


def main():
    prompts = {"query": "query: ", "passage": "passage: "}
    special = ["[CLS]", "[SEP]"]
    pieces = word_piece(special)
    write("bert_mean", pieces, *special, "mean_tokens", 64)
    write("bert_cls", pieces, *special, "cls_token", 40, below="bert.", prompts=prompts, hidden_act="gelu_new")
    write("roberta", unigram(["<s>", "</s>"]), "<s>", "</s>", "mean_tokens", 66, prompts=prompts, model_type="xlm-roberta", pad_token_id=1)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        json.dump(expected(pathlib.Path(sys.argv[1]), TEXTS), sys.stdout, ensure_ascii=False)
    else:
        main()
