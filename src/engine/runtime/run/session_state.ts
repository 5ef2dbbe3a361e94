/**
 * State of graphs in sessions: each session has its own values of a graph's variables, tables and accumulators. Follows TensorFlow's
 * `ResourceMgr` of a direct session.
 */
import type { NodeState } from "../../core/contract/host_op.ts";

/** Something kept for a session until that is closed. */
interface Releasable {
  release(): void;
}

/** The state of a graph in one session. */
export class SessionState {
  readonly #own = new Map<NodeState, NodeState>();
  readonly #kept = new Map<object, Releasable>();

  /** The session's own state for that of a graph; state of eager code is returned as it is, since all share it. */
  of<S extends NodeState>(state: S): S {
    if (!state.ofGraph) return state;
    let own = this.#own.get(state) as S | undefined;
    if (own === undefined) this.#own.set(state, own = state.fork());
    return own;
  }

  /** The first result of `make` for this key. */
  keep<T extends Releasable>(key: object, make: () => T): T {
    let kept = this.#kept.get(key) as T | undefined;
    if (kept === undefined) this.#kept.set(key, kept = make());
    return kept;
  }

  /** Frees all. */
  dispose(): void {
    for (const kept of this.#kept.values()) kept.release();
    for (const own of this.#own.values()) own.dispose();
    this.#kept.clear();
    this.#own.clear();
  }
}
