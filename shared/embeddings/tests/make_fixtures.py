#!/usr/bin/env python3
"""Makes the models and vectors that `model2vec.rs` compares with, by Model2Vec itself.

    pip install model2vec && python3 shared/embeddings/tests/make_fixtures.py

The models are small and their numbers random: what is compared is tokenizing, weights and means, not how good they are.
"""

import json
import pathlib
import struct

import numpy as np
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent / "fixtures"
CORPUS = [
    "The tide turns twice a day, and the harbour fills with boats.",
    "A backup that nobody has restored is only a hope; test it each month.",
    "Die Gezeiten wechseln zweimal am Tag. Übermorgen fährt das Schiff früh ab.",
    "Les bateaux rentrent au port à marée haute, l'équipage est fatigué.",
    "Ships, ropes, sails & anchors: 42 of them were counted in 2026.",
    "naïve café résumé coöperate Straße ﬁne Ｆｕｌｌ１２",
    "潮水每天涨落两次，港口里满是船。 彼は港で働いている。",
]
TEXTS = CORPUS + [
    "",
    " ",
    "tide",
    "TIDES and Harbours!",
    "unknowable ☃ snowman",
    "e\u0301quipage de\u0301a\u0300",
    "tab\tnew\nline\u00a0no-break\u200bzero width",
    "[UNK] in the text, <unk> too",
    "a" * 150,
    "half of the ﬁsh Ａ ｂ ①",
    "x" + "\u0301" * 8,
    "the harbour " * 400,
    "İstanbul ŞİŞLİ ΣΊΣΥΦΟΣ",
    "don't stop—really… “quoted” ‘single’ «guillemets»",
]


def charsmap(pairs):
    """SentencePiece's tables for these replacements: a double array, and what stands instead."""
    instead, root = b"", {}
    for source, target in pairs.items():
        node = root
        for byte in source.encode():
            node = node.setdefault(byte, {})
        node[0] = len(instead)
        instead += target.encode() + b"\0"
    units, used = [0] * 4096, {0}

    def place(at, node):
        base = next(base for base in range(1, 2048) if all(base ^ label not in used and base ^ label for label in node))
        used.update(base ^ label for label in node)
        units[at] |= (at ^ base) << 10 | (0x100 if 0 in node else 0)
        for label, child in node.items():
            if label == 0:
                units[base] = child | 1 << 31
            else:
                units[base ^ label] |= label
                place(base ^ label, child)

    place(0, root)
    array = b"".join(struct.pack("<I", unit) for unit in units)
    return struct.pack("<I", len(array)) + array + instead


def word_piece(special=()):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=420, special_tokens=["[PAD]", "[UNK]", *special], show_progress=False)
    tokenizer.train_from_iterator(CORPUS[:6], trainer)
    return tokenizer


def unigram(special=()):
    tokenizer = Tokenizer(models.Unigram())
    tables = charsmap({"ﬁ": "fi", "Ａ": "A", "ｂ": "b", "①": "1", "Ｆ": "F", "ｕ": "u", "ｌ": "l", "\n": " ", "\t": " ", "e\u0301": "é"})
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(tables), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<pad>", "<unk>", *special], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def byte_pairs():
    """As converters write SentencePiece's: without words, with a merge for each way to make a token, and with tokens of bytes."""
    steps = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    trained = Tokenizer(models.BPE())
    trained.normalizer = steps
    trained.pre_tokenizer = pre_tokenizers.Split(Regex("▁?[^▁]+"), "isolated")
    trained.train_from_iterator(CORPUS[:6], trainers.BpeTrainer(vocab_size=260, show_progress=False))
    learnt = sorted(trained.get_vocab(), key=trained.get_vocab().get)
    tokens = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁▁", *learnt]
    vocabulary = {token: at for at, token in enumerate(tokens)}
    cuts = ((token[:at], token[at:]) for token in tokens[258:] for at in range(1, len(token)))
    merges = [cut for cut in cuts if all(part in vocabulary for part in cut)]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = steps
    tokenizer.add_special_tokens(["<unk>", "<s>"])
    return tokenizer


def write(name, tokenizer, weights=False, mapping=False, dtype=np.float32, **config):
    from model2vec import StaticModel

    random = np.random.default_rng(7)
    size = tokenizer.get_vocab_size()
    rows = 40 if mapping else size
    vectors = random.normal(size=(rows, 8)).astype(dtype)
    model = StaticModel(
        vectors,
        tokenizer,
        config=dict(config),
        normalize=config.get("normalize", False),
        weights=random.uniform(0.1, 2, size).astype(np.float32) if weights else None,
        token_mapping=random.integers(0, rows, size) if mapping else None,
        max_length=config.get("max_length", 512),
    )
    folder = HERE / name
    model.save_pretrained(folder)
    for path in folder.iterdir():
        if path.name not in ("config.json", "model.safetensors", "tokenizer.json"):
            path.unlink()
    read = StaticModel.from_pretrained(folder)
    encoded = read.encode(TEXTS, normalize=False, use_multiprocessing=False)
    expected = [{"text": text, "mean": [float(number) for number in row]} for text, row in zip(TEXTS, encoded)]
    (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")


def main():
    HERE.mkdir(exist_ok=True)
    write("word_piece", word_piece(), normalize=True)
    write("unigram", unigram(), normalize=True)
    write("quantised", word_piece(), weights=True, mapping=True, normalize=False, max_length=20)
    write("byte_pairs", byte_pairs(), normalize=True)
    write("half", unigram(), dtype=np.float16, normalize=True)


if __name__ == "__main__":
    main()
