/** One request to a session: what is computed, what is fed, and where the fetches are found. */
import { NdArray } from "../../core/nd_array.ts";
import type { IrRequest } from "../../graph/ir.ts";
import { Operation, type SymbolicTensor } from "../../graph/operation.ts";
import { copyArray, type RunValue } from "../run/run_value.ts";
import type { Fed } from "./feeds.ts";

/** The place of a fetch: its number among `fetches`, or among `kept` where it is fed; null for an operation. */
type Place = { readonly from: number; readonly isFed: boolean } | null;

/** The fetches and feeds of one run. */
export interface Request extends Omit<IrRequest, "feeds"> {
  readonly fed: Fed;
  /** Feeds that are fetched. A body may write into its inputs: these are the original values. */
  readonly kept: readonly RunValue[];
  readonly places: readonly Place[];
}

/** Makes the request for these fetches. */
export function requestOf(resolved: readonly (SymbolicTensor | Operation)[], fed: Fed): Request {
  const fetches: SymbolicTensor[] = [], targets: Operation[] = [];
  const kept: RunValue[] = [], places: Place[] = [];
  for (const r of resolved) {
    if (r instanceof Operation) {
      targets.push(r);
      places.push(null);
      continue;
    }
    const i = fed.tensors.indexOf(r);
    if (i < 0) places.push({ from: fetches.push(r) - 1, isFed: false });
    else {
      const v = fed.values[i], own = v instanceof NdArray ? copyArray(v) : v.hold();
      places.push({ from: kept.push(own) - 1, isFed: true });
    }
  }
  return { fetches, targets, fed, kept, places };
}
