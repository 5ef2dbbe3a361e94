/** Tells by a file's first bytes what it is, for errors of readers that wanted another kind. */

/** Bytes that {@linkcode kindOfFile} looks at. */
export const FILE_HEAD = 1024;

/** Characters of a text that are shown. */
const SHOWN = 40;

/** Kinds by the bytes that they begin with, as characters. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/^\s*<(!doctype|html|head|\?xml)/i, "a page of HTML or XML, which servers send for a file that they have not"],
  [/^version https:\/\/git-lfs/, "a pointer of Git LFS, in whose place `git lfs pull` puts the file"],
  [/^\x89HDF\r\n/, "an HDF5 file (.h5), which `loadKeras` reads where Keras saved a model"],
  [/^.{4}TFL3/s, "a model of TensorFlow Lite (.tflite), which Weft does not read"],
  [/^PK.*data\.pkl/s, "a file of PyTorch (.pt), of which `torch.onnx.export` makes a model of ONNX"],
  [/^PK.*(metadata\.json|config\.json|model\.weights\.h5)/s, "a model of Keras (.keras), which `loadKeras` reads"],
  [/^PK.*\.npy/s, "arrays of NumPy (.npz)"],
  [/^PK/, "a ZIP archive"],
  [/^\x80[\x02-\x05]/, "a pickle of Python, as old versions of PyTorch write it"],
  [/^.{3}\0{5}\{/s, "a safetensors file, which holds weights and no graph"],
  [/^GGUF/, "a model of llama.cpp (.gguf), which Weft does not read"],
  [/^\x93NUMPY/, "an array of NumPy (.npy)"],
  [/^\x1f\x8b/, "a file that gzip compressed"],
  [/^\x08\x01\x12/, "a SavedModel of TensorFlow, which `loadSavedModel` reads"],
  [/^\x08[\x03-\x1f][\x12\x3a]/, "a model of ONNX, which `loadOnnx` reads"],
  [/^\s*\{\s*"/, "a text of JSON"],
];

/** Returns what a file is by its first bytes, such as "an empty file"; null where they do not tell. */
export function kindOfFile(bytes: Uint8Array): string | null {
  if (bytes.length === 0) return "an empty file";
  const head = Array.from(bytes.subarray(0, FILE_HEAD), (b) => String.fromCharCode(b)).join("");
  const known = KINDS.find(([beginning]) => beginning.test(head));
  if (known !== undefined) return known[1];
  const text = head.slice(0, SHOWN).trim();
  return /^[\t\n\r -~]*$/.test(head) ? `a text that begins with ${JSON.stringify(text)}` : null;
}

/** Returns `: it looks like …` for the end of an error; an empty text where the bytes do not tell. */
export function lookingLike(bytes: Uint8Array): string {
  const kind = kindOfFile(bytes);
  return kind === null ? "" : `: it looks like ${kind}`;
}
