/**
 * Attention for software adapters: an invocation keeps a few query rows with their results in registers and walks over the
 * keys a tile at a time. Where subgroups can be used, each key is loaded once by the lanes together and handed round, since
 * it is the loads that cost; where not, each lane loads it.
 */
import { makeProgram, type Program, Programs } from "../../core/dispatch.ts";

/** What a program is made for. */
export interface AttentionTile {
  /** Vectors of four that make up the depth. */
  readonly vectors: number;
  /** Whether a query sees only keys up to its own place. */
  readonly causal: boolean;
  /** Invocations of a workgroup: one subgroup where keys are handed round. */
  readonly lanes: number;
  /** True where the lanes of a subgroup hand keys round. */
  readonly shares: boolean;
  /** Query rows of one invocation. */
  readonly rows: number;
  /** True where the last workgroup of a head has more rows than there are queries. */
  readonly ragged: boolean;
  /** WGSL directives. */
  readonly enable: readonly string[];
}

/** Uniform fields, in order. */
export const TILE_PARAMS = ["groups", "blocks", "queries", "keys", "heads", "scale:f32"] as const;

/** Below every score; the score of a key that is not seen. */
const LOWEST = "-3.0e38";

/** Keys of one step. Loads are in flight together where there are several, but each adds to what must be compiled. */
function keysOf(tile: AttentionTile): number {
  return tile.shares ? 4 : 1;
}

const programs = new Programs();

/** The program for a tile: workgroups are blocks of queries, of heads, of batches. */
export function attentionTileProgram(tile: AttentionTile): Program {
  const key = JSON.stringify(tile);
  let program = programs.get(key);
  if (program) return program;
  const { vectors, causal, lanes, rows, ragged, enable } = tile;
  const r = indices(rows), v = indices(vectors), n = indices(keysOf(tile));
  const source = keySource(tile);
  const span = rows * lanes;
  const lines = [
    `let group = wid.x + wid.y * nwg.x;`,
    `if (group >= p.groups) { return; }`,
    `let t0 = (group % p.blocks) * ${span}u;`,
    `let bh = group / p.blocks;`,
    `let h = bh % p.heads;`,
    `let b = bh / p.heads;`,
    // The last query sees all keys, as it does where the keys of earlier calls are kept.
    `let extra = p.keys - p.queries;`,
    `let step = p.heads * ${vectors}u;`,
    `let first = (b * p.keys * p.heads + h) * ${vectors}u;`,
    ...source.setup,
    ...r.flatMap((i) => [
      `let t_${i} = t0 + ${i * lanes}u + lidx;`,
      `let at_${i} = (b * p.queries + ${
        ragged ? `min(t_${i}, p.queries - 1u)` : `t_${i}`
      }) * step + h * ${vectors}u;`,
      ...(causal ? [`let seen_${i} = t_${i} + extra;`] : []),
      ...v.map((j) => `let q_${i}_${j} = in0[at_${i} + ${j}u] * p.scale;`),
      ...v.map((j) => `var o_${i}_${j} = vec4<f32>(0.0);`),
      `var top_${i} = ${LOWEST};`,
      `var total_${i} = 0.0;`,
    ]),
    // No query of the workgroup sees more.
    `let end = ${causal ? `min(p.keys, t0 + ${span}u + extra)` : "p.keys"};`,
    `for (var n = 0u; n < end; n += ${n.length}u) {`,
    ...n.map((k) =>
      `let k_${k} = first + ${k === 0 ? "n" : `min(n + ${k}u, p.keys - 1u)`} * step;`
    ),
    ...source.load("in1"),
    ...n.flatMap((k) => r.map((i) => `var s_${i}_${k} = 0.0;`)),
    ...n.flatMap((k) =>
      v.flatMap((j) => [
        `let a_${k}_${j} = ${source.value("in1", k, j)};`,
        ...["x", "y", "z", "w"].flatMap((c) =>
          r.map((i) => `s_${i}_${k} += q_${i}_${j}.${c} * a_${k}_${j}.${c};`)
        ),
      ])
    ),
    ...source.load("in2"),
    ...r.flatMap((i) => weigh(i, n, causal)),
    ...v.flatMap((j) => [
      ...n.map((k) => `let b_${k}_${j} = ${source.value("in2", k, j)};`),
      ...r.map((i) =>
        `o_${i}_${j} = o_${i}_${j} * shrink_${i}${
          n.map((k) => ` + w_${i}_${k} * b_${k}_${j}`).join("")
        };`
      ),
    ]),
    `}`,
    ...r.flatMap((i) => {
      const stores = [
        `let norm_${i} = 1.0 / total_${i};`,
        ...v.map((j) => `out0[at_${i} + ${j}u] = o_${i}_${j} * norm_${i};`),
      ];
      return ragged ? [`if (t_${i} < p.queries) {`, ...stores, `}`] : stores;
    }),
  ];
  program = makeProgram({
    name: "attention_tiles",
    enable,
    inputs: ["vec4<f32>", "vec4<f32>", "vec4<f32>"],
    outputs: ["vec4<f32>"],
    params: TILE_PARAMS,
    workgroup: [lanes, 1, 1],
    body: lines.join("\n"),
  });
  programs.set(key, program);
  return program;
}

function indices(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

/** How vectors of keys and values come into registers. */
interface KeySource {
  /** Statements before the loop. */
  readonly setup: readonly string[];
  /** Statements that load a tile of `in1` or `in2`. */
  readonly load: (from: string) => readonly string[];
  /** Text of vector `j` of key `k`. */
  readonly value: (from: string, k: number, j: number) => string;
}

function keySource(tile: AttentionTile): KeySource {
  const { vectors, lanes, shares } = tile;
  if (!shares) {
    return { setup: [], load: () => [], value: (from, k, j) => `${from}[k_${k} + ${j}u]` };
  }
  // Lane l holds the vectors l, l + lanes, … of each key.
  const parts = indices(Math.ceil(vectors / lanes));
  return {
    setup: parts.map((c) => `let own_${c} = min(lidx + ${c * lanes}u, ${vectors - 1}u);`),
    load: (from) =>
      indices(keysOf(tile)).flatMap((k) =>
        parts.map((c) => `let ${from}_${k}_${c} = ${from}[k_${k} + own_${c}];`)
      ),
    value: (from, k, j) =>
      `subgroupBroadcast(${from}_${k}_${Math.floor(j / lanes)}, ${j % lanes}u)`,
  };
}

/** Weights of the tile's keys for row `i`, and the factor that brings older weights to the new maximum. */
function weigh(i: number, n: readonly number[], causal: boolean): string[] {
  // A causal query sees no key past the last one: what is clamped is masked too, but for rows that are not stored.
  const last = causal ? `seen_${i}` : "p.keys - 1u";
  const masked = causal || n.length > 1;
  return [
    ...(masked
      ? n.map((k) => `s_${i}_${k} = select(${LOWEST}, s_${i}_${k}, n + ${k}u <= ${last});`)
      : []),
    `let top_new_${i} = ${n.reduce((text, k) => `max(${text}, s_${i}_${k})`, `top_${i}`)};`,
    `let shrink_${i} = exp(top_${i} - top_new_${i});`,
    `top_${i} = top_new_${i};`,
    ...n.map((k) => `let w_${i}_${k} = exp(s_${i}_${k} - top_new_${i});`),
    `total_${i} = total_${i} * shrink_${i} + (${n.map((k) => `w_${i}_${k}`).join(" + ")});`,
  ];
}
