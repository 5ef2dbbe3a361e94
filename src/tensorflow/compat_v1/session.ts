/** Sessions of TensorFlow 1: fed by a map, entered as the default, with callables. */
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import type { Nest } from "../../engine/core/nest.ts";
import type { CompositeTensor } from "../../engine/core/composite.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { Operation } from "../../engine/graph/operation.ts";
import { defaultSession, enterDefaultSession } from "../../engine/runtime/run/default_session.ts";
import type {
  Feeds,
  FeedValue,
  Fetch,
  Fetched,
  FetchedOf,
  FetchedValue,
  RunOptions,
  SessionOptions,
  TensorName,
} from "../../engine/runtime/run/requests.ts";
import { Session as BaseSession } from "../../engine/runtime/session/session.ts";

/** Feeds of a run: a map from tensors, variables or names to values. */
export type FeedDict = ReadonlyMap<Tensor | CompositeTensor | string, FeedValue>;
/**
 * Arguments of a run besides its fetches: a feed dict, or the options of `tf.Session.run` with `feedDict` for `feeds`.
 */
export type RunArguments = FeedDict | (RunOptions & { readonly feedDict?: Feeds | undefined });
/** Runs the same fetches each time, fed in a fixed order. */
export type Callable<F = Nest<Fetch>> = (...values: FeedValue[]) => Promise<FetchedOf<F>>;

function optionsOf(given: RunArguments | undefined): RunOptions | undefined {
  if (given instanceof Map) return { feeds: given };
  const { feedDict, ...options } = (given ?? {}) as RunOptions & { feedDict?: Feeds };
  return feedDict === undefined ? options : { ...options, feeds: feedDict };
}

/**
 * A session. Follows TensorFlow `tf.compat.v1.Session`. The graph's variables have values of their own in each session.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [x, y] = graph.asDefault(() => {
 *   const x = v1.placeholder("float32", []);
 *   return [x, tf.mul(x, 2)];
 * });
 * await using sess = new v1.Session({ graph });
 * console.log(await sess.run(y, new Map([[x, 3]]))); // 6
 * await sess.asDefault(async () => console.log(await y.eval(new Map([[x, 4]])))); // 8
 * ```
 */
export class Session extends BaseSession {
  /** Runs what the fetches need and returns their values in the same nest. */
  override run(fetches: Tensor | TensorName, feeds?: RunArguments): Promise<FetchedValue>;
  /** Returns the value of a name: null for an operation. */
  override run(fetches: string, feeds?: RunArguments): Promise<Fetched>;
  /** Runs an operation for its effect. */
  override run(fetches: Operation, feeds?: RunArguments): Promise<null>;
  /** Returns the values of tensors. */
  override run(
    fetches: readonly (Tensor | TensorName)[],
    feeds?: RunArguments,
  ): Promise<FetchedValue[]>;
  /** Runs a list of fetches. */
  override run(
    fetches: readonly (Tensor | Operation | string)[],
    feeds?: RunArguments,
  ): Promise<Fetched[]>;
  /** Runs any nest of fetches. */
  override run<F extends Nest<Fetch>>(fetches: F, feeds?: RunArguments): Promise<FetchedOf<F>>;
  override run(fetches: Nest<Fetch>, feeds?: RunArguments): Promise<unknown> {
    return super.run(fetches, optionsOf(feeds));
  }

  /**
   * Runs `fn` with this as the session of `t.eval()` and `op.run()`, and with its graph as the one being built, up to
   * its first `await`; the session stays the default until the result of `fn` has settled. Follows TensorFlow
   * `tf.compat.v1.Session.as_default`.
   */
  asDefault<R>(fn: () => R): R {
    const leave = enterDefaultSession(this);
    let result: R;
    try {
      result = this.graph.asDefault(fn);
    } catch (e) {
      leave();
      throw e;
    }
    if (result instanceof Promise) return result.finally(leave) as R;
    leave();
    return result;
  }

  /**
   * Makes a function that runs the same fetches, fed in the order of `feedList`. Follows TensorFlow
   * `tf.compat.v1.Session.make_callable`.
   */
  makeCallable<F extends Nest<Fetch>>(
    fetches: F,
    feedList: readonly (Tensor | CompositeTensor | string)[] = [],
  ): Callable<F> {
    return (...values) => {
      if (values.length !== feedList.length) {
        return Promise.reject(
          new TypeError(
            `Feed list length ${feedList.length} does not match the ${values.length} values given to the callable`,
          ),
        );
      }
      return this.run(fetches, new Map(feedList.map((key, i) => [key, values[i]])));
    };
  }

  /** Throws `UnimplementedError`: partial runs are not supported. */
  partialRunSetup(_fetches: readonly Fetch[], _feeds?: readonly Tensor[]): never {
    throw partialRuns("partialRunSetup");
  }
  /** Throws `UnimplementedError`: partial runs are not supported. */
  partialRun(_handle: unknown, _fetches: Nest<Fetch>, _feeds?: RunArguments): never {
    throw partialRuns("partialRun");
  }
}

function partialRuns(name: string): UnimplementedError {
  return new UnimplementedError(
    `Cannot ${name}: runs are not continued here, call run() with all fetches and feeds`,
  );
}

/**
 * A session that is the default until it is closed. Follows TensorFlow `tf.compat.v1.InteractiveSession`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const y = graph.asDefault(() => tf.add(1, 2));
 * await using _ = new v1.InteractiveSession({ graph });
 * console.log(await y.eval()); // 3
 * ```
 */
export class InteractiveSession extends Session {
  readonly #leave: () => void;

  /** Opens a session and makes it the default. */
  constructor(options: SessionOptions = {}) {
    super(options);
    this.#leave = enterDefaultSession(this);
  }
  /** Closes the session and ends its time as the default. */
  override close(): Promise<void> {
    this.#leave();
    return super.close();
  }
}

/**
 * Returns the session of `t.eval()` and `op.run()`, or null. Follows TensorFlow `tf.compat.v1.get_default_session`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1;
 * await using sess = new v1.Session({ graph: new tf.Graph() });
 * await sess.asDefault(async () => console.log(v1.getDefaultSession() === sess)); // true
 * ```
 */
export function getDefaultSession(): BaseSession | null {
  return defaultSession() as BaseSession | null;
}
