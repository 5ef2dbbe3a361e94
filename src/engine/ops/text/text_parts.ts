/** Ops that take parts of strings, and join the strings along axes. On the host. */
import { encodeString, joinBytes } from "../../core/text.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { broadcastShapes, broadcastStrides, normalizeAxes, sizeOf } from "../../core/shape.ts";
import { hostInts } from "../array/view.ts";
import { refuse, textsOf } from "../host/arrays.ts";

/** Returns the start of each UTF-8 character, and the end. */
function starts(text: Uint8Array, unit: unknown): number[] {
  const all = Array.from({ length: text.length }, (_, i) => i);
  const begins = unit === "UTF8_CHAR"
    ? all.filter((i) => i === 0 || (text[i] & 0xc0) !== 0x80)
    : all;
  return [...begins, text.length];
}

export const Substr: OpDef = defineOp({
  name: "Substr",
  inputs: ["input: string", "pos: T", "len: T"],
  outputs: ["output: string"],
  attrs: ["T: {int32, int64}", 'unit: string = "BYTE"'],
  infer: ([x, pos, len]) => [broadcastShapes(x.shape, broadcastShapes(pos.shape, len.shape))],
  grad: null,
  cpu: ([x, pos, len], [out], { attrs }) => {
    const to = out.data as Uint8Array[];
    const [row, place, length] = [x, pos, len].map((a) => {
      const strides = broadcastStrides(a.shape, out.shape);
      return (i: number) => offset(i, out.shape, strides);
    });
    for (let i = 0; i < to.length; i++) {
      const text = textsOf(x)[row(i)];
      // Each byte begins where it stands.
      const begins = attrs.unit === "BYTE" ? null : starts(text, attrs.unit);
      const count = begins === null ? text.length : begins.length - 1;
      const at = Number((pos.data as Int32Array)[place(i)]);
      const many = Number((len.data as Int32Array)[length(i)]);
      const from = at < 0 ? count + at : at;
      // TensorFlow takes the rest by a length below 0 of bytes alone, and refuses one of characters from the end on.
      const isRest = many < 0 && begins === null, isWrong = many < 0 && begins !== null && at < 0;
      if (from < 0 || from > count || isWrong) {
        refuse(`pos ${at} out of range for string of ${count} characters at index ${i}`);
      }
      const end = isRest ? count : Math.min(count, from + Math.max(0, many));
      to[i] = begins === null ? text.subarray(from, end) : text.subarray(begins[from], begins[end]);
    }
  },
});

export const ReduceJoin: OpDef = defineOp({
  name: "ReduceJoin",
  inputs: ["inputs: string", "reduction_indices: int32"],
  outputs: ["output: string"],
  attrs: ["keep_dims: bool = false", 'separator: string = ""'],
  hostInputs: ["reduction_indices"],
  infer: ([x, axes], { keep_dims }) => {
    if (x.shape === null || axes.value === undefined) return [null];
    const joined = normalizeAxes(hostInts(axes.value), x.shape.length);
    if (keep_dims) return [x.shape.map((d, i) => (joined.includes(i) ? 1 : d))];
    return [x.shape.filter((_, i) => !joined.includes(i))];
  },
  grad: null,
  cpu: ([x, axes], [out], { attrs }) => {
    // The axis named first is joined first: its strings are adjacent.
    const order = hostInts(axes).map((a) => (a < 0 ? a + x.rank : a)).reverse();
    const rest = x.shape.map((_, i) => i).filter((i) => !order.includes(i));
    const to = out.data as Uint8Array[], separator = encodeString(attrs.separator);
    const inner = order.map((a) => x.shape[a]), outer = rest.map((a) => x.shape[a]);
    for (let i = 0; i < to.length; i++) {
      const base = offset(i, outer, rest.map((a) => x.strides[a]));
      const parts = Array.from(
        { length: sizeOf(inner) },
        (_, k) => textsOf(x)[base + offset(k, inner, order.map((a) => x.strides[a]))],
      );
      to[i] = joinBytes(parts, separator);
    }
  },
});

/** Returns the position of element `i` of some axes. */
function offset(i: number, extents: readonly number[], strides: readonly number[]): number {
  let rest = i, at = 0;
  for (let d = extents.length - 1; d >= 0; d--) {
    at += rest % extents[d] * strides[d];
    rest = Math.floor(rest / extents[d]);
  }
  return at;
}
