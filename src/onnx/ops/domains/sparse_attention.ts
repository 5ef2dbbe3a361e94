/** SparseAttention of onnxruntime: queries see blocks of earlier keys, in layouts that heads take in turn. */
import { NdArray } from "../../../engine/core/nd_array.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry } from "../../build/rule.ts";
import { appended, separate } from "../group_attention.ts";
import { attend, extentOf, joinHeads, rotate } from "../heads.ts";
import * as tf from "../../build/tf.ts";

/** Blocks that queries of blocks see, a square for each layout. */
interface Layouts {
  readonly count: number;
  /** Blocks in a row. */
  readonly size: number;
  readonly seen: NdArray;
  /** True where each block of queries sees its own keys. */
  readonly isWhole: boolean;
}

/** Reads the layouts: the places of each row's blocks in a list of columns. */
function layoutsOf(n: NodeCall): Layouts {
  const [count, ends] = n.concrete(5), [lists, width] = n.concrete(6);
  const rows = n.wantInts(5), columns = n.wantInts(6), size = ends - 1;
  if (!(size >= 1) || lists !== count) n.fail("its block indices are not of the same layouts");
  const data = new Uint8Array(count * size * size);
  let isWhole = true;
  for (let l = 0; l < count; l++) {
    for (let r = 0; r < size; r++) {
      const from = rows[l * ends + r], to = rows[l * ends + r + 1];
      if (!(from >= 0 && from <= to && to <= width)) {
        n.fail(`row ${r} of its blocks is ${from} to ${to}`);
      }
      for (let i = from; i < to; i++) {
        const c = columns[l * width + i];
        if (!(c >= 0 && c < size)) n.fail(`a block of keys is ${c}, of ${size}`);
        data[(l * size + r) * size + c] = 1;
      }
      isWhole &&= data[(l * size + r) * size + r] === 1;
    }
  }
  return { count, size, seen: new NdArray("bool", [count, size, size], data), isWhole };
}

function sparseAttention(n: NodeCall): (Tensor | null)[] {
  const { attributes } = n, block = attributes.int("sparse_block_size", 0);
  const heads = attributes.int("num_heads", 0), shared = attributes.int("kv_num_heads", 0);
  if (!(block >= 1)) n.fail(`sparse_block_size is ${block}, wanted at least 1`);
  const { count, size, seen, isWhole } = layoutsOf(n);
  const room = n.dims(3)[2] ?? n.needs("the size of the past");
  if (room > size * block) {
    n.fail(`its past has room for ${room} keys, its blocks for ${size * block}`);
  }
  let [q, k, v] = separate(n, heads, shared);
  const queries = extentOf(q, 2), lengths = tf.reshape(n.index(8), [-1, 1]);
  const past = tf.maximum(tf.sub(lengths, queries), 0);
  const places = tf.minimum(tf.add(past, tf.range(0, queries, 1, "int32")), room - 1);
  if (attributes.flag("do_rotary")) {
    const isPaired = attributes.flag("rotary_interleaved");
    const cos = tf.gather(n.x(9), places), sin = tf.gather(n.x(10), places);
    q = rotate(q, cos, sin, isPaired);
    k = rotate(k, cos, sin, isPaired);
  }
  k = appended(n, 3, k, { past, size: room });
  v = appended(n, 4, v, { past, size: room });
  const rows = tf.expandDims(tf.expandDims(places, 1), 3);
  const columns = Array.from({ length: room }, (_, i) => Math.floor(i / block));
  // Layouts, batch, queries, keys.
  const byRow = tf.gather(seen, tf.floorDiv(places, block), 1);
  let open = tf.transpose(tf.gather(byRow, columns, 3), [1, 0, 2, 3]);
  if (count > 1) open = tf.gather(open, Array.from({ length: heads }, (_, h) => h % count), 1);
  const depth = q.staticShape!.at(-1) ?? n.needs("the depth of a head");
  const { y } = attend(q, k, v, {
    scale: attributes.float("scale", 0) || 1 / Math.sqrt(depth),
    allowed: tf.logicalAnd(tf.lessEqual(tf.range(0, room, 1, "int32"), rows), open),
    mayBeEmpty: !isWhole,
  });
  return [joinHeads(n, y), n.wants(1) ? k : null, n.wants(2) ? v : null];
}

/** Attention to blocks of keys. */
export const SPARSE_ATTENTION: readonly OpEntry[] = [
  op("SparseAttention", 1, sparseAttention, { domain: "com.microsoft", known: [5, 6] }),
];
