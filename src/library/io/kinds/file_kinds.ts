/** Tells by a file's first bytes what it is, for errors of readers that wanted another kind. */

/** Bytes that are looked at. */
const HEAD = 1024;

/** Characters of a text that are shown. */
const SHOWN = 40;

/** A kind of files. */
interface Kind {
  /** Name of the kind, with the reader that takes it or the step that helps. */
  readonly name: string;
  /** The bytes that tell, as characters. */
  readonly bytes: string;
  /** Position of these bytes. Default 0. */
  readonly at?: number;
  /** A text that the first bytes have further on. */
  readonly holds?: RegExp;
}

const KINDS: readonly Kind[] = [
  {
    name: "a pointer of Git LFS, in whose place `git lfs pull` puts the file",
    bytes: "version https://git-lfs",
  },
  {
    name: "an HDF5 file (.h5), which `loadKeras` reads where Keras saved a model",
    bytes: "\x89HDF\r\n",
  },
  { name: "a model of TensorFlow Lite (.tflite), which Weft does not read", bytes: "TFL3", at: 4 },
  {
    name: "a file of PyTorch (.pt), of which `torch.onnx.export` makes a model of ONNX",
    bytes: "PK",
    holds: /data\.pkl/,
  },
  {
    name: "a model of Keras (.keras), which `loadKeras` reads",
    bytes: "PK",
    holds: /metadata\.json|config\.json|model\.weights\.h5/,
  },
  { name: "arrays of NumPy (.npz)", bytes: "PK", holds: /\.npy/ },
  { name: "a ZIP archive", bytes: "PK" },
  ...["\x80\x02", "\x80\x03", "\x80\x04", "\x80\x05"].map((bytes) => ({
    name: "a pickle of Python, as old versions of PyTorch write it",
    bytes,
  })),
  { name: "a safetensors file, which holds weights and no graph", bytes: "\0\0\0\0{", at: 4 },
  { name: "a model of llama.cpp (.gguf), which Weft does not read", bytes: "GGUF" },
  { name: "an array of NumPy (.npy)", bytes: "\x93NUMPY" },
  { name: "a file that gzip compressed", bytes: "\x1f\x8b" },
  { name: "a SavedModel of TensorFlow, which `loadSavedModel` reads", bytes: "\b\x01\x12" },
];

/** Texts by what they begin with. */
const TEXTS: readonly (readonly [RegExp, string])[] = [
  [
    /^\s*<(!doctype|html|head|\?xml)/i,
    "a page of HTML or XML, which servers send for a file that they have not",
  ],
  [/^\s*\{\s*"/, "a text of JSON"],
];

/** Returns what a file is by its first bytes, such as "an empty file"; null where they do not tell. */
export function kindOfFile(bytes: Uint8Array): string | null {
  if (bytes.length === 0) return "an empty file";
  const head = Array.from(bytes.subarray(0, HEAD), (b) => String.fromCharCode(b)).join("");
  const kind = KINDS.find(({ bytes, at = 0, holds }) =>
    head.startsWith(bytes, at) && (holds?.test(head) ?? true)
  );
  if (kind !== undefined) return kind.name;
  // The version of the format, and the name of what wrote it or the graph.
  const [tag, version, next] = bytes;
  if (tag === 8 && version > 2 && version < 32 && (next === 0x12 || next === 0x3a)) {
    return "a model of ONNX, which `loadOnnx` reads";
  }
  const text = TEXTS.find(([beginning]) => beginning.test(head));
  if (text !== undefined) return text[1];
  const isText = bytes.subarray(0, HEAD).every((b) => b > 31 && b < 127 || b > 8 && b < 14);
  return isText ? `a text that begins with ${JSON.stringify(head.slice(0, SHOWN).trim())}` : null;
}

/** Returns `: it looks like …` for the end of an error; an empty text where the bytes do not tell. */
export function lookingLike(bytes: Uint8Array): string {
  const kind = kindOfFile(bytes);
  return kind === null ? "" : `: it looks like ${kind}`;
}
