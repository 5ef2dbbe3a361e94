/**
 * How blocks of stored matrices are read.
 */
import { accType, loadText } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";
import { type BlockLoader, TRANSPOSE_BLOCK } from "./tiled.ts";
import { elementType } from "./text.ts";

/** A stored matrix. */
export interface PlainMatrix {
  /** Element type. */
  readonly dtype: DType;
  /** Its binding. */
  readonly buffer: string;
  /** `k` runs along its last axis, else along its first. */
  readonly alongK: boolean;
  /** Read four at a time. */
  readonly wide: boolean;
  /** Text of where it begins. */
  readonly base: string;
  /** Text of the distance between its rows. */
  readonly stride: string;
  /** Text of the extent of its other axis. */
  readonly extent: string;
}

/** Reads blocks of a stored matrix. */
export function plainBlocks(
  { dtype, buffer, alongK, wide, base, stride, extent }: PlainMatrix,
): BlockLoader {
  const t = accType(dtype), zero = `vec4<${t}>()`;
  const get = (text: string): string => loadText(dtype, `${buffer}[${text}]`, wide ? 4 : 1);
  const each = (f: (i: number) => string): string[] => [0, 1, 2, 3].map(f);
  const lines: string[] = [];
  if (alongK && wide) {
    // `k` is a multiple of 4 here, so that a vector is inside or outside as a whole.
    lines.push(
      `let kv = min(k, k1 - 4u) / 4u;`,
      ...each((i) =>
        `let w${i} = select(${zero}, ${
          get(`${base} + min(at + ${i}u, ${extent} - 1u) * ${stride} + kv`)
        }, k < k1);`
      ),
      ...TRANSPOSE_BLOCK,
    );
  } else if (alongK) {
    const one = (i: number, q: number): string =>
      `select(${t}(0), ${get(`ro${i} + min(k + ${q}u, k1 - 1u)`)}, k + ${q}u < k1)`;
    lines.push(
      ...each((i) => `let ro${i} = ${base} + min(at + ${i}u, ${extent} - 1u) * ${stride};`),
      ...each((q) => `let v${q} = vec4(${each((i) => one(i, q)).join(", ")});`),
    );
  } else if (wide) {
    lines.push(
      `let av = ${base} + min(at, ${extent} - 4u) / 4u;`,
      ...each((q) =>
        `let v${q} = select(${zero}, ${
          get(`av + min(k + ${q}u, k1 - 1u) * ${stride}`)
        }, k + ${q}u < k1);`
      ),
    );
  } else {
    lines.push(
      ...each((i) => `let co${i} = ${base} + min(at + ${i}u, ${extent} - 1u);`),
      ...each((q) => `let kr${q} = min(k + ${q}u, k1 - 1u) * ${stride};`),
      ...each((q) =>
        `let v${q} = select(${zero}, vec4(${
          each((i) => get(`co${i} + kr${q}`)).join(", ")
        }), k + ${q}u < k1);`
      ),
    );
  }
  return { buffer: elementType(dtype, wide), setup: [], block: lines };
}
