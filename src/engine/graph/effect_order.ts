/**
 * Automatic control dependencies: operations on one variable keep program order, and every other effect (a script, a
 * loop with one inside) keeps its order with all effects.
 */
import type { Resource } from "../core/graph_node.ts";
import { resourceOf } from "../core/graph_node.ts";
import type { Attrs, OpDef, OpEffects } from "../core/op.ts";
import type { Operation } from "./operation.ts";

/** The accesses to one variable since the last barrier. */
interface Track {
  write: Operation | null;
  reads: Operation[];
}

/** Follows a body as it is built and finds the operations that each new one must wait for. */
export class EffectOrder {
  readonly #tracks = new Map<Resource, Track>();
  #barrier: Operation | null = null;
  #since: Operation[] = [];

  /** Returns the operations whose effects must come before `op`. */
  follow(op: Operation): Operation[] {
    const handles = op.inputs.filter((t) => t.dtype === "resource");
    const resources = handles.map(resourceOf).filter((r) => r !== undefined);
    // A handle that is an argument may be any variable's.
    const known = isAccess(op) && resources.length === handles.length;
    const after = known ? this.#access(op, resources) : this.#pass(op);
    return after.filter((o) => !op.inputs.some((t) => t.operation === o));
  }

  #access(op: Operation, resources: readonly Resource[]): Operation[] {
    const after = new Set<Operation>();
    if (this.#barrier) after.add(this.#barrier);
    for (const r of resources) {
      let track = this.#tracks.get(r);
      if (!track) this.#tracks.set(r, track = { write: null, reads: [] });
      if (track.write) after.add(track.write);
      if (isRead(op)) track.reads.push(op);
      else {
        for (const read of track.reads) after.add(read);
        track.write = op;
        track.reads = [];
      }
    }
    this.#since.push(op);
    return [...after];
  }

  #pass(op: Operation): Operation[] {
    const after = this.#since.length > 0 ? this.#since : this.#barrier ? [this.#barrier] : [];
    this.#barrier = op;
    this.#since = [];
    this.#tracks.clear();
    return after;
  }
}

/** True for an operation that only reads a variable. */
export function isRead(op: Operation): boolean {
  return op.type === "ReadVariableOp";
}

/** True for reads, assignments and updates: operations that touch only their variables. */
function isAccess(op: Operation): boolean {
  return isRead(op) ||
    /^Assign\w*VariableOp$|^ResourceScatter(Add|Sub|Update)$|^Resource(Sparse)?Apply/.test(op.type);
}

/** Returns the side effects of an application: those of its op, or of the functions in its attributes. */
export function effectsOf(
  { def, attrs }: { readonly def: OpDef; readonly attrs: Attrs },
): OpEffects {
  if (attrs._ordered) return "ordered";
  return attrs._unordered ? "unordered" : def.effects;
}
