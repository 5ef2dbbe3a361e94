/**
 * Follows shape computations of exporters, Shape → Gather → Concat → Reshape: partly known integers are tracked element
 * by element, so that the known ones are available while building.
 */
import { NdArray } from "../../engine/core/nd_array.ts";
import type { GraphNode } from "../file/graph.ts";
import { type Entries, Value } from "./value.ts";

/** The known part of a node's result without running it; null for none. */
export type Follow = (
  node: GraphNode,
  inputs: readonly (Value | null)[],
) => Followed | null;

/** Entries of a vector or a scalar; the default dtype is the first input's. */
export interface Followed {
  readonly entries: Entries;
  readonly rank: 0 | 1;
  readonly dtype?: "int64";
}

const entriesAt = (inputs: readonly (Value | null)[], i: number): Entries | null =>
  inputs[i]?.entries ?? null;
const rankAt = (inputs: readonly (Value | null)[], i: number): number | null =>
  inputs[i]?.shape?.length ?? null;
const allKnown = (entries: Entries | null): entries is readonly number[] =>
  entries !== null && !entries.includes(null);

function shape({ attributes }: GraphNode, [x]: readonly (Value | null)[]): Followed | null {
  const dims = x?.shape ?? null;
  if (dims === null) return null;
  return {
    entries: dims.slice(
      attributes.int("start", 0),
      attributes.has("end") ? attributes.int("end", 0) : undefined,
    ),
    rank: 1,
    dtype: "int64",
  };
}

function gather({ attributes }: GraphNode, inputs: readonly (Value | null)[]): Followed | null {
  const entries = entriesAt(inputs, 0), at = entriesAt(inputs, 1), rank = rankAt(inputs, 1);
  if (entries === null || rankAt(inputs, 0) !== 1 || !allKnown(at) || rank === null) return null;
  if (![0, -1].includes(attributes.int("axis", 0))) return null;
  const places = at.map((i) => (i < 0 ? i + entries.length : i));
  if (places.some((i) => !(i >= 0 && i < entries.length))) return null;
  return { entries: places.map((i) => entries[i]), rank: rank as 0 | 1 };
}

function concat(_: GraphNode, inputs: readonly (Value | null)[]): Followed | null {
  const parts = inputs.map((_, i) => rankAt(inputs, i) === 1 ? entriesAt(inputs, i) : null);
  return parts.length === 0 || parts.includes(null)
    ? null
    : { entries: parts.flatMap((p) => [...p!]), rank: 1 };
}

/** Converts a scalar to a vector of one, or such a vector to a scalar. */
function toRank(rank: 0 | 1): Follow {
  return (_, inputs) => {
    const entries = entriesAt(inputs, 0);
    return entries?.length === 1 && rankAt(inputs, 0) === 1 - rank ? { entries, rank } : null;
  };
}

function slice(node: GraphNode, inputs: readonly (Value | null)[]): Followed | null {
  const entries = entriesAt(inputs, 0);
  if (entries === null || rankAt(inputs, 0) !== 1 || node.version < 10) return null;
  const [from, to, step] = [1, 2, 4].map((i) => entriesAt(inputs, i));
  if (!allKnown(from) || !allKnown(to) || from.length !== 1) return null;
  if (inputs[4] && (!allKnown(step) || step[0] !== 1)) return null;
  return { entries: entries.slice(from[0], to[0]), rank: 1 };
}

/** Follows entries through arithmetic of two scalars or vectors, either of which may be one number. */
export function followArithmetic(f: (a: number, b: number) => number): Follow {
  return (_, inputs) => {
    const a = entriesAt(inputs, 0), b = entriesAt(inputs, 1);
    const ranks = [rankAt(inputs, 0), rankAt(inputs, 1)];
    if (a === null || b === null || ranks.includes(null)) return null;
    const length = Math.max(a.length, b.length);
    if ([a, b].some((v) => v.length !== length && v.length !== 1)) return null;
    return {
      entries: Array.from({ length }, (_, i) => {
        const x = a[a.length === 1 ? 0 : i], y = b[b.length === 1 ? 0 : i];
        return x === null || y === null ? null : f(x, y);
      }),
      rank: Math.max(...ranks as number[]) as 0 | 1,
    };
  };
}

/** Follows entries through the ops of shape computations. */
export const FOLLOW: Readonly<
  Record<"shape" | "gather" | "concat" | "slice" | "toVector" | "toScalar", Follow>
> = { shape, gather, concat, slice, toVector: toRank(1), toScalar: toRank(0) };

/** Returns the followed entries of a node's result; null for a result without integers. */
export function followEntries(
  follow: Follow | undefined,
  node: GraphNode,
  inputs: readonly (Value | null)[],
): Followed | null {
  const followed = follow?.(node, inputs) ?? null;
  return followed === null || followed.entries.some((v) => v !== null && !Number.isSafeInteger(v))
    ? null
    : followed;
}

/** Returns a result whose entries are all known, else null. */
export function knownEntries(
  followed: Followed | null,
  inputs: readonly (Value | null)[],
): Value | null {
  if (followed === null || !allKnown(followed.entries)) return null;
  const { entries, rank, dtype = inputs[0]!.dtype } = followed;
  const data = dtype === "int32" ? Int32Array.from(entries) : BigInt64Array.from(entries, BigInt);
  return Value.known(
    new NdArray(dtype === "int32" ? dtype : "int64", rank === 0 ? [] : [entries.length], data),
  );
}
