"""Writes ../fixtures/transformers_models.bin.gz: folders of small random models as transformers.js loads them, each in one file of
its path and bytes. Needs torch, transformers, tokenizers, onnx: `python make_models.py`. Tests need no Python."""
import contextlib
import gzip
import io
import json
import pathlib

import numpy as np
import onnx
import tokenizers as tk
import torch
import transformers as tr
from onnx import TensorProto, helper

torch.manual_seed(7)
FILES = {}
TEXT = """the quick brown fox jumps over the lazy dog . a cat sat on the mat and looked at me . paris is the capital of france .
who is in london ? my name is sarah and i live in berlin . this film is great , that one is bad . one two three four five"""
WORDS = sorted(set(TEXT.split()))


class Of(torch.nn.Module):
    """A module whose forward pass is a function of another."""

    def __init__(self, module, function):
        super().__init__()
        self.module, self.function = module, function

    def forward(self, *args):
        return self.function(self.module, *args)


def lively(module):
    """Gives weights the size of trained ones: attention over small ones is the same everywhere."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, p in module.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if p.dim() > 1:
                fan = max(1, int(np.prod(p.shape[1:])))
                p.copy_(noise * (0.6 if "embed" in name else 1.5 / fan**0.5))
            elif name.endswith("weight"):
                p.copy_(1 + 0.2 * noise)
            else:
                p.copy_(0.1 * noise)
    return module.eval()


def exported(module, args, inputs, outputs, dynamic):
    file = io.BytesIO()
    with contextlib.redirect_stdout(io.StringIO()):
        torch.onnx.export(module.eval(), args, file, input_names=inputs, output_names=outputs, dynamic_axes=dynamic,
                          opset_version=17, dynamo=False)
    model = onnx.load_from_string(file.getvalue())
    for node in model.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
    del model.graph.value_info[:]
    return model


def put(folder, name, content):
    if isinstance(content, onnx.ModelProto):
        content = content.SerializeToString()
    elif not isinstance(content, bytes):
        content = json.dumps(content).encode()
    FILES[f"{folder}/{name}"] = content


def add(folder, config, models, **files):
    put(folder, "config.json", {**config.to_dict(), **files.pop("more", {})})
    for name, model in models.items():
        put(folder, f"onnx/{name}.onnx", model)
    for name, content in files.items():
        put(folder, f"{name}.json", content)


def word_pieces():
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [chr(c) for c in range(97, 123)]
    vocab = {w: i for i, w in enumerate(dict.fromkeys([*special, *WORDS, *letters, *[f"##{c}" for c in letters]]))}
    t = tk.Tokenizer(tk.models.WordPiece(vocab, unk_token="[UNK]"))
    t.normalizer = tk.normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = tk.pre_tokenizers.BertPreTokenizer()
    t.post_processor = tk.processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)])
    t.decoder = tk.decoders.WordPiece()
    t.add_special_tokens(special)
    config = {"tokenizer_class": "BertTokenizer", "model_max_length": 40, "pad_token": "[PAD]", "unk_token": "[UNK]",
              "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return len(vocab), {"tokenizer": json.loads(t.to_str()), "tokenizer_config": config}


def byte_pairs(special, at_end=(), **config):
    t = tk.Tokenizer(tk.models.BPE())
    t.pre_tokenizer = tk.pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = tk.decoders.ByteLevel()
    trainer = tk.trainers.BpeTrainer(vocab_size=290 + len(special), special_tokens=list(special), show_progress=False,
                                     initial_alphabet=tk.pre_tokenizers.ByteLevel.alphabet())
    t.train_from_iterator([TEXT], trainer)
    t.add_special_tokens(list(at_end))
    return t.get_vocab_size(), {"tokenizer": json.loads(t.to_str()), "tokenizer_config": {"model_max_length": 40, **config}}


PIECES, PIECE_FILES = word_pieces()
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, attn_implementation="eager")
SEQUENCE = {0: "batch_size", 1: "sequence_length"}
BERT_INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


def ids(*shape, most=PIECES):
    return torch.randint(5, most, shape)


def bert_args():
    return ids(2, 7), torch.ones(2, 7, dtype=torch.int64), torch.zeros(2, 7, dtype=torch.int64)


def text_model(folder, cls, outputs, take, labels=None, dims=2):
    """A model of BERT's kind with a head."""
    small = dict(vocab_size=PIECES, max_position_embeddings=40)
    if "DistilBert" in cls.__name__:
        config = tr.DistilBertConfig(dim=32, n_layers=2, n_heads=4, hidden_dim=48, attn_implementation="eager", **small)
    else:
        config = tr.BertConfig(**small, **SMALL)
    if labels:
        config.id2label = dict(enumerate(labels))
        config.label2id = {label: i for i, label in enumerate(labels)}
    module, count = lively(cls(config)), 2 if "DistilBert" in cls.__name__ else 3
    inputs = BERT_INPUTS[:count]
    of = Of(module, lambda m, *a: take(m(**dict(zip(inputs, a)))))
    dynamic = {n: SEQUENCE for n in inputs} | {n: {i: d for i, d in SEQUENCE.items() if i < dims} for n in outputs}
    model = exported(of, bert_args()[:count], inputs, outputs, dynamic)
    add(folder, config, {"model": model}, more={"architectures": [cls.__name__]}, **PIECE_FILES)


def texts():
    logits = lambda o: o.logits
    text_model("feature-extraction", tr.BertModel, ["last_hidden_state"], lambda o: o.last_hidden_state)
    # fastembed reads this file too.
    put("feature-extraction", "special_tokens_map.json", {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"})
    text_model("text-classification", tr.DistilBertForSequenceClassification, ["logits"], logits, ["NEGATIVE", "POSITIVE"], 1)
    text_model("token-classification", tr.BertForTokenClassification, ["logits"], logits, ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
    text_model("question-answering", tr.DistilBertForQuestionAnswering, ["start_logits", "end_logits"],
               lambda o: (o.start_logits, o.end_logits))
    text_model("zero-shot-classification", tr.BertForSequenceClassification, ["logits"], logits,
               ["contradiction", "neutral", "entailment"], 1)
    text_model("fill-mask", tr.BertForMaskedLM, ["logits"], logits)


IMAGE = {"do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
         "resample": 2, "rescale_factor": 1 / 255}


def processor(kind, size, **more):
    return {"preprocessor_config": {**IMAGE, "image_processor_type": kind, "size": size, **more}}


def image_model(folder, cls, config, outputs, take, files, size=32, **more):
    module = lively(cls(config))
    model = exported(Of(module, lambda m, x: take(m(pixel_values=x))), (torch.randn(1, 3, size, size),), ["pixel_values"], outputs,
                     {n: {0: "batch_size"} for n in ["pixel_values", *outputs]})
    add(folder, config, {"model": model}, more={"architectures": [cls.__name__], **more}, **files)


def images():
    square = {"height": 32, "width": 32}
    logits = lambda o: o.logits
    labels = ["cat", "dog", "fox"]
    named = dict(id2label=dict(enumerate(labels)), label2id={label: i for i, label in enumerate(labels)})
    image_model("image-classification", tr.ViTForImageClassification, tr.ViTConfig(image_size=32, patch_size=8, **named, **SMALL),
                ["logits"], logits, processor("ViTImageProcessor", square))
    segformer = tr.SegformerConfig(num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[16, 24], patch_sizes=[7, 3],
                                   strides=[4, 2], num_attention_heads=[2, 2], mlp_ratios=[2, 2], decoder_hidden_size=16, **named)
    image_model("image-segmentation", tr.SegformerForSemanticSegmentation, segformer, ["logits"], logits,
                processor("SegformerImageProcessor", square))
    yolos = tr.YolosConfig(image_size=[32, 32], patch_size=8, num_detection_tokens=6, use_mid_position_embeddings=False, **named, **SMALL)
    image_model("object-detection", tr.YolosForObjectDetection, yolos, ["logits", "pred_boxes"],
                lambda o: (o.logits, o.pred_boxes), processor("YolosImageProcessor", square, do_pad=False))
    glpn = tr.GLPNConfig(num_encoder_blocks=4, depths=[1] * 4, sr_ratios=[2, 1, 1, 1], hidden_sizes=[8, 12, 16, 16],
                         num_attention_heads=[1, 2, 2, 2], mlp_ratios=[2] * 4, decoder_hidden_size=8, strides=[4, 2, 2, 2])
    image_model("depth-estimation", tr.GLPNForDepthEstimation, glpn, ["predicted_depth"], lambda o: o.predicted_depth,
                processor("GLPNImageProcessor", square), 64)
    put("depth-estimation", "preprocessor_config.json", {**IMAGE, "image_processor_type": "DPTImageProcessor", "size": {"height": 64, "width": 64}})
    part = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48)
    clip = tr.CLIPConfig(text_config=dict(vocab_size=PIECES, max_position_embeddings=40, eos_token_id=3, **part),
                         vision_config=dict(image_size=32, patch_size=8, **part), projection_dim=16, attn_implementation="eager")
    module = lively(tr.CLIPModel(clip))
    names = ["input_ids", "pixel_values", "attention_mask"]
    outputs = ["logits_per_image", "logits_per_text", "text_embeds", "image_embeds"]

    def both(m, i, p, a):
        o = m(input_ids=i, pixel_values=p, attention_mask=a)
        return o.logits_per_image, o.logits_per_text, o.text_embeds, o.image_embeds

    tokens = ids(2, 7)
    tokens[:, -1] = 3
    model = exported(Of(module, both), (tokens, torch.randn(2, 3, 32, 32), torch.ones(2, 7, dtype=torch.int64)), names, outputs,
                     {names[0]: {0: "text_batch_size", 1: "sequence_length"}, names[2]: {0: "text_batch_size", 1: "sequence_length"},
                      names[1]: {0: "image_batch_size"}})
    add("zero-shot-image-classification", clip, {"model": model}, more={"architectures": ["CLIPModel"]}, **PIECE_FILES,
        **processor("CLIPImageProcessor", square))


def cache_names(layers, kinds=("",)):
    return [f"past_key_values.{i}{k}.{w}" for i in range(layers) for k in kinds for w in ("key", "value")]


def present(names):
    return [n.replace("past_key_values", "present") for n in names]


def causal(folder, cls, config, heads, vocab_files, architecture):
    from transformers.cache_utils import DynamicCache
    module, names = lively(cls(config)), cache_names(2)

    def step(m, tokens, mask, positions, *kv):
        cache = DynamicCache()
        for i in range(2):
            cache.update(kv[2 * i], kv[2 * i + 1], i)
        o = m(input_ids=tokens, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True)
        return (o.logits, *[t for layer in o.past_key_values.layers for t in (layer.keys, layer.values)])

    inputs = ["input_ids", "attention_mask", "position_ids", *names]
    args = (ids(1, 2), torch.ones(1, 5, dtype=torch.int64), torch.arange(3, 5)[None], *[torch.randn(1, heads, 3, 8) for _ in names])
    dynamic = {"input_ids": SEQUENCE, "position_ids": SEQUENCE, "attention_mask": {0: "batch_size", 1: "total_sequence_length"},
               "logits": SEQUENCE}
    dynamic |= {n: {0: "batch_size", 2: "past_sequence_length"} for n in names}
    dynamic |= {n: {0: "batch_size", 2: "total_sequence_length"} for n in present(names)}
    model = exported(Of(module, step), args, inputs, ["logits", *present(names)], dynamic)
    add(folder, config, {"model": model}, more={"architectures": [architecture]}, **vocab_files,
        generation_config={"eos_token_id": 1, "pad_token_id": 1, "bos_token_id": 1})


def generators():
    size, files = byte_pairs(["<unk>", "<end>"], tokenizer_class="GPT2Tokenizer", bos_token="<end>", eos_token="<end>", pad_token="<end>")
    llama = tr.LlamaConfig(vocab_size=size, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                           num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=1, attn_implementation="eager")
    causal("text-generation-llama", tr.LlamaForCausalLM, llama, 2, files, "LlamaForCausalLM")
    gpt2 = tr.GPT2Config(vocab_size=size, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=1,
                         attn_implementation="eager")
    causal("text-generation-gpt2", tr.GPT2LMHeadModel, gpt2, 4, files, "GPT2LMHeadModel")


def merged(first, later):
    """One model of two, by an If on `use_cache_branch`, as published ones are: they share their initialisers."""
    shared = {}
    for model in (first, later):
        renamed = {}
        for t in model.graph.initializer:
            key = (t.data_type, tuple(t.dims), t.raw_data, t.SerializeToString() if not t.raw_data else b"")
            if key not in shared:
                copy = onnx.TensorProto()
                copy.CopyFrom(t)
                copy.name = f"w{len(shared)}"
                shared[key] = copy
            renamed[t.name] = shared[key].name
        for node in model.graph.node:
            for i, name in enumerate(node.input):
                node.input[i] = renamed.get(name, name)
    outputs = [o.name for o in first.graph.output]

    def branch(model, tag):
        inside = {o for n in model.graph.node for o in n.output}
        nodes = []
        for node in model.graph.node:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.name = f"{tag}{node.name}"
            copy.input[:] = [tag + n if n in inside else n for n in node.input]
            copy.output[:] = [tag + n if n else n for n in node.output]
            nodes.append(copy)
        given = {i.name for i in model.graph.input}
        for name in outputs:
            past = name.replace("present", "past_key_values")
            source = tag + name if name in inside else past if past in given else None
            assert source, name
            nodes.append(helper.make_node("Identity", [source], [f"{tag}out.{name}"]))
        values = [helper.make_tensor_value_info(f"{tag}out.{o.name}", TensorProto.FLOAT, None) for o in first.graph.output]
        return helper.make_graph(nodes, f"{tag}branch", [], values)

    choice = helper.make_node("If", ["use_cache_branch"], outputs, "choice", then_branch=branch(later, "then."),
                              else_branch=branch(first, "else."))
    inputs = {i.name: i for model in (later, first) for i in model.graph.input}
    flag = helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1])
    graph = helper.make_graph([choice], "merged", [*inputs.values(), flag], list(first.graph.output), list(shared.values()))
    return helper.make_model(graph, opset_imports=list(first.opset_import), ir_version=first.ir_version)


def decoder(module, hidden_size, heads, width, layers, mask, decoder_ids="input_ids"):
    """The decoder of an encoder and a decoder, merged."""
    from transformers.cache_utils import DynamicCache, EncoderDecoderCache
    names = cache_names(layers, (".decoder", ".encoder"))
    own = [n for n in names if ".decoder." in n]
    inputs = ["encoder_attention_mask"] * mask + ["input_ids", "encoder_hidden_states"]

    def take(args):
        args = list(args)
        attention = args.pop(0) if mask else None
        return attention, args[0], args[1], args[2:]

    def call(m, attention, tokens, hidden, past):
        more = {"attention_mask": attention} if mask else {}
        return m(decoder_input_ids=tokens, encoder_outputs=(hidden,), past_key_values=past, use_cache=True, **more)

    def caches(o):
        c = o.past_key_values
        layers_of = zip(c.self_attention_cache.layers, c.cross_attention_cache.layers)
        return [t for s, x in layers_of for t in (s.keys, s.values, x.keys, x.values)]

    def first(m, *args):
        attention, tokens, hidden, _ = take(args)
        o = call(m, attention, tokens, hidden, EncoderDecoderCache(DynamicCache(), DynamicCache()))
        return (o.logits, *caches(o))

    def later(m, *args):
        attention, tokens, hidden, kv = take(args)
        own_cache, cross = DynamicCache(), DynamicCache()
        for i in range(layers):
            own_cache.update(kv[4 * i], kv[4 * i + 1], i)
            cross.update(kv[4 * i + 2], kv[4 * i + 3], i)
        past = EncoderDecoderCache(own_cache, cross)
        for i in range(layers):
            past.is_updated[i] = True
        o = call(m, attention, tokens, hidden, past)
        return (o.logits, *[t for i, t in enumerate(caches(o)) if i % 4 < 2])

    hidden = torch.randn(1, 6, hidden_size)
    base = [torch.ones(1, 6, dtype=torch.int64)] * mask
    kv = [torch.randn(1, heads, 6 if ".encoder." in n else 3, width) for n in names]
    dynamic = {"encoder_attention_mask": {0: "batch_size", 1: "encoder_sequence_length"},
               "input_ids": {0: "batch_size", 1: "decoder_sequence_length"},
               "encoder_hidden_states": {0: "batch_size", 1: "encoder_sequence_length"},
               "logits": {0: "batch_size", 1: "decoder_sequence_length"}}
    for n in names:
        length = "encoder_sequence_length" if ".encoder." in n else "past_decoder_sequence_length"
        dynamic[n] = {0: "batch_size", 2: length if ".encoder." not in n else "encoder_sequence_length_out"}
        dynamic[n.replace("past_key_values", "present")] = {0: "batch_size", 2: f"{length}_present"}
    a = exported(Of(module, first), (*base, ids(1, 2), hidden), inputs, ["logits", *present(names)], dynamic)
    b = exported(Of(module, later), (*base, ids(1, 1), hidden, *kv), [*inputs, *names], ["logits", *present(own)], dynamic)
    return merged(a, b)


def sequences():
    size, files = byte_pairs(["<pad>", "</s>", "<unk>"], tokenizer_class="T5Tokenizer", eos_token="</s>", pad_token="<pad>", unk_token="<unk>")
    config = tr.T5Config(vocab_size=size, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, feed_forward_proj="gated-gelu",
                         decoder_start_token_id=0, pad_token_id=0, eos_token_id=1)
    config._attn_implementation = "eager"
    module = lively(tr.T5ForConditionalGeneration(config))
    encoder = exported(Of(module.encoder, lambda m, i, a: m(input_ids=i, attention_mask=a).last_hidden_state), bert_args()[:2],
                       BERT_INPUTS[:2], ["last_hidden_state"], {n: SEQUENCE for n in [*BERT_INPUTS[:2], "last_hidden_state"]})
    add("text2text-generation", config, {"encoder_model": encoder, "decoder_model_merged": decoder(module, 32, 4, 8, 2, 1)},
        more={"architectures": ["T5ForConditionalGeneration"]}, **files,
        generation_config={"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0})


def speech():
    special = ["<|endoftext|>", "<|startoftranscript|>", "<|notimestamps|>"]
    # Numbers above the last of them are points in time.
    size, files = byte_pairs([], special, tokenizer_class="WhisperTokenizer", eos_token=special[0], bos_token=special[0],
                             pad_token=special[0], unk_token=special[0])
    end, start, plain = size - 3, size - 2, size - 1
    config = tr.WhisperConfig(vocab_size=size, d_model=32, encoder_layers=1, encoder_attention_heads=4, encoder_ffn_dim=48,
                              decoder_layers=1, decoder_attention_heads=4, decoder_ffn_dim=48, max_source_positions=100,
                              max_target_positions=32, num_mel_bins=16, attn_implementation="eager", pad_token_id=end, bos_token_id=end,
                              eos_token_id=end, decoder_start_token_id=start, suppress_tokens=[], begin_suppress_tokens=[])
    module = lively(tr.WhisperForConditionalGeneration(config))
    encoder = exported(Of(module.model.encoder, lambda m, x: m(x).last_hidden_state), (torch.randn(1, 16, 200),), ["input_features"],
                       ["last_hidden_state"], {"input_features": {0: "batch_size"}, "last_hidden_state": {0: "batch_size"}})
    from transformers.audio_utils import mel_filter_bank
    filters = mel_filter_bank(num_frequency_bins=201, num_mel_filters=16, min_frequency=0.0, max_frequency=8000.0,
                              sampling_rate=16000, norm="slaney", mel_scale="slaney")
    features = {"feature_extractor_type": "WhisperFeatureExtractor", "processor_class": "WhisperProcessor", "chunk_length": 2,
                "feature_size": 16, "hop_length": 160, "n_fft": 400, "n_samples": 32000, "nb_max_frames": 200, "sampling_rate": 16000,
                "padding_value": 0.0, "return_attention_mask": False}
    add("automatic-speech-recognition", config,
        {"encoder_model": encoder, "decoder_model_merged": decoder(module, 32, 4, 8, 1, 0)},
        more={"architectures": ["WhisperForConditionalGeneration"]}, preprocessor_config=features, **files,
        generation_config={"decoder_start_token_id": start, "eos_token_id": end, "pad_token_id": end, "bos_token_id": end,
                           "no_timestamps_token_id": plain, "is_multilingual": False, "max_length": 24, "suppress_tokens": [], "begin_suppress_tokens": []})
    wav = tr.Wav2Vec2Config(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48,
                            conv_dim=[16, 16, 16], conv_kernel=[10, 3, 3], conv_stride=[5, 4, 4], num_feat_extract_layers=3,
                            num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, classifier_proj_size=16,
                            id2label={0: "yes", 1: "no"}, label2id={"yes": 0, "no": 1}, attn_implementation="eager")
    heard = lively(tr.Wav2Vec2ForSequenceClassification(wav))
    model = exported(Of(heard, lambda m, x: m(x).logits), (torch.randn(1, 1600),), ["input_values"], ["logits"],
                     {"input_values": {0: "batch_size", 1: "sequence_length"}})
    add("audio-classification", wav, {"model": model}, more={"architectures": ["Wav2Vec2ForSequenceClassification"]},
        preprocessor_config={"feature_extractor_type": "Wav2Vec2FeatureExtractor", "do_normalize": True, "feature_size": 1,
                             "padding_value": 0.0, "return_attention_mask": False, "sampling_rate": 16000})


class Voice(torch.nn.Module):
    """Speech of phonemes, a style and a speed, of the kinds of layers that Kokoro has."""

    def __init__(self, phonemes):
        super().__init__()
        nn = torch.nn
        self.embed, self.conv = nn.Embedding(phonemes, 16), nn.Conv1d(16, 16, 5, padding=2)
        self.lstm, self.style = nn.LSTM(16, 8, batch_first=True, bidirectional=True), nn.Linear(256, 32)
        self.up, self.last = nn.ConvTranspose1d(16, 12, 8, 4, 2), nn.ConvTranspose1d(12, 1, 16, 8, 4)

    def forward(self, ids, style, speed):
        x, _ = self.lstm(torch.nn.functional.leaky_relu(self.conv(self.embed(ids).transpose(1, 2)), 0.2).transpose(1, 2))
        gain, bias = self.style(style)[..., None].chunk(2, 1)
        x = self.up((1 + gain) * torch.nn.functional.instance_norm(x.transpose(1, 2)) + bias)
        x = x + torch.sin(3 * x) ** 2 + torch.sin(torch.cumsum(torch.sigmoid(x) * speed, -1))
        return torch.tanh(self.last(x)).squeeze(1)


def voice():
    letters = " $;:,.!?abcdefghijklmnopqrstuvwxyzæçðøŋœɐɑɒɔɕɖəɚɛɜɟɡɣɤɥɨɪɫɬɭɯɰɱɲɳɴɵɶɸɹɻɽɾʀʁʂʃʈʊʋʌʍʎʏʐʑʒʔʕʘʝˈˌːˑθχᵊᵻ"
    vocab = {c: i for i, c in enumerate("$" + letters.replace("$", ""))}
    t = tk.Tokenizer(tk.models.WordLevel(vocab, unk_token="$"))
    t.pre_tokenizer = tk.pre_tokenizers.Split(tk.Regex("."), "isolated")
    module = lively(Voice(len(vocab)))
    model = exported(module, (torch.randint(0, 40, (1, 9)), torch.randn(1, 256), torch.tensor([1.0])), ["input_ids", "style", "speed"],
                     ["waveform"], {"input_ids": {1: "sequence_length"}, "waveform": {1: "samples"}})
    put("kokoro", "config.json", {"model_type": "style_text_to_speech_2"})
    put("kokoro", "tokenizer.json", json.loads(t.to_str()))
    put("kokoro", "tokenizer_config.json", {"model_max_length": 512, "tokenizer_class": "PreTrainedTokenizer", "pad_token": "$", "unk_token": "$"})
    put("kokoro", "onnx/model.onnx", model)


if __name__ == "__main__":
    for make in (texts, images, generators, sequences, speech, voice):
        make()
    head, blob = {}, b""
    for path, content in sorted(FILES.items()):
        head[path] = [len(blob), len(content)]
        blob += content
    out = pathlib.Path(__file__).parent.parent / "fixtures" / "transformers_models.bin.gz"
    out.parent.mkdir(exist_ok=True)
    out.write_bytes(gzip.compress(json.dumps(head).encode() + b"\n" + blob, 9, mtime=0))
    print(f"{len(FILES)} files, {len(blob)} bytes, {out.stat().st_size} compressed")
