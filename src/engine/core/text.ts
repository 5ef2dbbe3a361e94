/** Conversion of strings to UTF-8 and back, and helpers on bytes. */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Encodes a string in UTF-8; bytes are returned as they are. */
export function encodeString(value: string | Uint8Array): Uint8Array {
  return typeof value === "string" ? encoder.encode(value) : value;
}

/** Bytes of the longest string that is put together from its characters. */
const FEW = 16;

export function decodeString(value: Uint8Array): string {
  const { length } = value;
  if (length > FEW) return decoder.decode(value);
  let text = "";
  for (let i = 0; i < length; i++) {
    if (value[i] > 127) return decoder.decode(value);
    text += String.fromCharCode(value[i]);
  }
  return text;
}

/**
 * `asTensorFlowJs`: true where values become tensors, and tensors are read, as TensorFlow.js's programs expect: numbers
 * that an integer dtype does not hold wrap, and fractions are cut off; `data()` of strings returns texts instead of bytes;
 * `array()` returns 1 and 0 for bool, and the parts of complex numbers side by side in the last axis; `"loss " + x` is a text.
 */
export const reads = { asTensorFlowJs: false };

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}

export function joinBytes(
  parts: readonly Uint8Array[],
  separator: Uint8Array,
): Uint8Array<ArrayBuffer> {
  return concatBytes(parts.flatMap((part, i) => (i === 0 ? [part] : [separator, part])));
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The name of an object's class, or a value's type. */
export function typeName(value: unknown): string {
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  const { constructor: maker } = value as { constructor?: { name?: string } };
  if (maker === undefined) return "object";
  // Generators have a constructor without a name.
  return maker.name || Object.prototype.toString.call(value).slice(8, -1);
}

/** Formats a JavaScript value shortly for messages. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "function") return `function ${value.name || "(anonymous)"}`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object") {
    const { dtype } = value as { readonly dtype?: unknown };
    const isTensor = typeof dtype === "string" && "staticShape" in value;
    return isTensor ? `a tensor of dtype ${dtype}` : `a value of type ${typeName(value)}`;
  }
  return typeof value === "string"
    ? JSON.stringify(value)
    : `${String(value)} of type ${typeof value}`;
}

/** Formats a value that was to be a number or a word: these as they are, others by {@linkcode describe}. */
export function brief(value: unknown): string {
  return typeof value === "object" || typeof value === "function" ? describe(value) : String(value);
}
