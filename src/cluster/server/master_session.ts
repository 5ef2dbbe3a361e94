/** A session of a master: a graph that grows, and the programs of the steps that clients asked for. */
import {
  AbortedError,
  CancelledError,
  InvalidArgumentError,
  NotFoundError,
  UnimplementedError,
} from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { RecentMap } from "../../engine/core/collections/recent_map.ts";
import type {
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { DTYPES } from "../../engine/core/dtype.ts";
import { GraphResources } from "../../tensorflow/graph/resources.ts";
import { RunContext, RunLimit } from "../../engine/runtime/run/run_context.ts";
import { toHost } from "../../engine/runtime/run/run_value.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import { after } from "../../engine/runtime/run/timers.ts";
import { shapeFromJson } from "../../tensorflow/graph_def/values.ts";
import { fullName, isControl, operationOf } from "./node_names.ts";
import { ClusterProgram, type ClusterProgramParts } from "./cluster_program.ts";
import { taskOf, withinTask } from "./cluster_spec.ts";
import { onDevices } from "./devices.ts";
import { checkOutside } from "../outside_ops.ts";
import { checkScriptHashes } from "../script_hashes.ts";
import { DrawsByName, Program } from "./program.ts";
import type { TaskHost } from "./task_host.ts";

/** Names of the tensors and nodes of a step. */
export interface StepNames {
  readonly feeds: readonly string[];
  readonly fetches: readonly string[];
  readonly targets: readonly string[];
}

export interface SessionConfig {
  readonly isolated: boolean;
  readonly softPlacement: boolean;
  /** Milliseconds of a step; 0 for no limit. */
  readonly timeoutMs: number;
}

/** Limits of a step: its time and its abort signal. */
export interface StepLimit {
  readonly signal: AbortSignal;
  /** Milliseconds; 0 for the session's. */
  readonly timeoutMs: number;
}

/** Programs that are kept. */
const MOST_PROGRAMS = 256;

export class MasterSession {
  /** Number of extensions so far. */
  version = 0n;
  /** Lists of names that calls refer to by number. */
  readonly callables: Map<bigint, StepNames> = new Map();
  readonly #host: TaskHost;
  readonly #config: SessionConfig;
  readonly #nodes = new Map<string, NodeDefJson>();
  readonly #functions = new Map<string, FunctionDefJson>();
  readonly #resources: GraphResources;
  readonly #draws = new DrawsByName();
  readonly #programs = new RecentMap<string, Program | ClusterProgram>(
    MOST_PROGRAMS,
    (p) => p.release(),
  );
  readonly #running = new Set<RunContext>();
  #versions: GraphDefJson["versions"];
  #isClosed = false;

  /** Creates a session of a graph, which may be empty. */
  constructor(host: TaskHost, def: GraphDefJson, config: SessionConfig) {
    this.#host = host;
    this.#config = config;
    this.#resources = config.isolated ? new GraphResources() : host.resources;
    this.#versions = def.versions;
    this.#add(def);
  }

  /**
   * Adds nodes. Throws `AbortedError` where the caller knows another version of the graph, `InvalidArgumentError` for
   * a node that exists.
   */
  extend(def: GraphDefJson, version: bigint): void {
    if (version !== this.version) {
      throw new AbortedError(
        `Current version is ${this.version} but caller expected ${version}.`,
      );
    }
    this.#add(def);
    this.version++;
  }

  #add({ node, library, versions }: GraphDefJson): void {
    this.#versions = versions;
    for (const def of node) {
      if (this.#nodes.has(def.name)) {
        throw new InvalidArgumentError(`Cannot extend the graph: it has a node "${def.name}"`);
      }
    }
    for (const def of node) this.#nodes.set(def.name, def);
    for (const f of library?.function ?? []) this.#functions.set(f.signature.name, f);
  }

  /** Runs a step. Rejects with the first error, `CancelledError` and `DeadlineExceededError` included. */
  async run(names: StepNames, values: readonly NdArray[], limit: StepLimit): Promise<NdArray[]> {
    if (this.#isClosed) throw new AbortedError("The session is closed");
    if (values.length !== names.feeds.length) {
      throw new InvalidArgumentError(
        `Cannot feed ${names.feeds}: wanted ${names.feeds.length} values, received ${values.length}`,
      );
    }
    const program = this.#known(names) ?? await this.#make(names, values);
    const timeoutMs = limit.timeoutMs || this.#config.timeoutMs || undefined;
    const context = new RunContext(null, RunLimit.of({ timeoutMs, signal: limit.signal }));
    const cancel = (): void => context.abort(new CancelledError("The step was cancelled"));
    const clear = timeoutMs === undefined
      ? () => {}
      : after(timeoutMs, () => context.abort(context.limit!.expired()));
    limit.signal.addEventListener("abort", cancel, { once: true });
    this.#running.add(context);
    try {
      return await toHost(await program.run(values, context, this.#draws), context);
    } finally {
      this.#running.delete(context);
      clear();
      limit.signal.removeEventListener("abort", cancel);
    }
  }

  /** Aborts all running steps. */
  close(): void {
    this.#isClosed = true;
    const error = new CancelledError("Session has been closed.");
    for (const context of [...this.#running]) context.abort(error);
    this.#programs.clear();
    if (this.#resources !== this.#host.resources) this.#resources.clear();
  }

  #known(names: StepNames): Program | ClusterProgram | undefined {
    const known = this.#programs.get(keyOf(names));
    return known?.isLost ? undefined : known;
  }

  async #make(
    names: StepNames,
    values: readonly NdArray[],
  ): Promise<Program | ClusterProgram> {
    const { feeds, fetches, targets } = names;
    for (const name of [...fetches, ...targets]) {
      if (this.#nodes.has(operationOf(name))) continue;
      throw new NotFoundError(`FetchOutputs node ${name}: not found`);
    }
    for (const name of feeds) {
      if (this.#nodes.has(operationOf(name))) continue;
      throw new NotFoundError(`FeedInputs: unable to find feed output ${name}`);
    }
    const node = this.#pruned([...fetches, ...targets], new Set(feeds.map(fullName)));
    const def = withCalled({
      node,
      library: { function: [...this.#functions.values()] },
      versions: this.#versions,
    });
    checkOutside(def, this.#host.allowOps);
    await checkScriptHashes(def, this.#host.scripts);
    const parts = {
      def,
      inputs: feeds.map((name, i) => ({
        name: fullName(name),
        dtype: values[i].dtype,
        shape: this.#shapeOf(name),
      })),
      fetches: fetches.map(fullName),
    };
    const program = this.#isHere(def)
      ? new Program({
        ...parts,
        def: onDevices(def, withinTask),
        targets,
        resources: this.#resources,
        scripts: this.#host.scripts,
        strict: !this.#config.softPlacement,
      })
      : await this.#forCluster(parts);
    const other = this.#known(names);
    if (other !== undefined) {
      program.release();
      return other;
    }
    const handle = fetches.findIndex((_, i) => DTYPES[program.dtypes[i]].kind === "handle");
    if (handle >= 0) {
      throw new UnimplementedError(
        `Cannot fetch "${fetches[handle]}": it is a ${
          program.dtypes[handle]
        }, which stays in its task`,
      );
    }
    this.#programs.set(keyOf(names), program);
    return program;
  }

  /** Returns a placeholder's declared shape, or null. */
  #shapeOf(name: string): PartialShape {
    const { op, attr } = this.#nodes.get(operationOf(name))!;
    return op === "Placeholder" && attr?.shape?.shape ? shapeFromJson(attr.shape.shape) : null;
  }

  /** Collects the nodes that some names depend on, up to the fed tensors. */
  #pruned(names: readonly string[], fed: ReadonlySet<string>): NodeDefJson[] {
    const kept = new Set<NodeDefJson>(), open = names.filter((name) => !fed.has(fullName(name)));
    while (open.length > 0) {
      const name = open.pop()!, node = this.#nodes.get(operationOf(name));
      if (node === undefined) throw new InvalidArgumentError(`The graph has no node "${name}"`);
      if (kept.has(node)) continue;
      kept.add(node);
      for (const input of node.input ?? []) {
        // A fed placeholder computes nothing that other nodes could wait for.
        const isFed = fed.has(fullName(input.replace(/^\^/, "")));
        if (!isFed) open.push(input);
      }
    }
    const list = [...this.#nodes.values()].filter((n) => kept.has(n));
    return list.map((n) => ({
      ...n,
      input: (n.input ?? []).filter((i) => !isControl(i) || kept.has(this.#nodes.get(i.slice(1))!)),
    }));
  }

  /** True where no node names a device of another task. */
  #isHere(def: GraphDefJson): boolean {
    const { task } = this.#host;
    let isHere = true;
    onDevices(def, (device) => {
      const on = taskOf(device, task);
      isHere &&= on.job === task.job && on.task === task.task || on.job === "localhost";
      return device;
    });
    return isHere;
  }

  #forCluster(parts: ClusterProgramParts): Promise<ClusterProgram> {
    if (!this.#config.isolated) return ClusterProgram.make(this.#host, parts);
    throw new UnimplementedError(
      "Cannot isolate the state of a session that runs on several tasks",
    );
  }
}

function keyOf({ feeds, fetches, targets }: StepNames): string {
  return `${feeds.join()};${fetches.join()};${targets.join()}`;
}

/** The graph with those functions alone that its nodes call, directly or not. */
function withCalled(def: GraphDefJson): GraphDefJson {
  const library = new Map((def.library?.function ?? []).map((f) => [f.signature.name, f]));
  const called = new Set<FunctionDefJson>(), open: (readonly NodeDefJson[])[] = [def.node];
  while (open.length > 0) {
    for (const { attr = {} } of open.pop()!) {
      for (const { func, list } of Object.values(attr)) {
        for (const { name } of [func ?? [], list?.func ?? []].flat()) {
          const f = library.get(name);
          if (f === undefined || called.has(f)) continue;
          called.add(f);
          open.push(f.nodeDef);
        }
      }
    }
  }
  return { ...def, library: { function: [...called] } };
}
