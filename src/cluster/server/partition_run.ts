/**
 * One run of a partition: values and dead ones flow along its edges, through branches, and through frames of loops turn by turn.
 * Follows TensorFlow's executor (`executor.cc`, `propagator_state.cc`).
 */
import { DTYPES } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { text } from "../../tensorflow/graph_def/values.ts";
import type { DrawCounts } from "../../engine/ops/random/state.ts";
import { EagerTensor } from "../../engine/runtime/eager/tensor.ts";
import type { RunContext } from "../../engine/runtime/run/run_context.ts";
import {
  copyArray,
  releaseValue,
  type RunValue,
  toHost,
} from "../../engine/runtime/run/run_value.ts";
import { frameId } from "./frame_ids.ts";
import { type CutPartition, type Edge, frameName, type Item } from "./pieces.ts";
import { Frame, Iteration, NO_INPUTS, type Token } from "./frames.ts";
import type { Sent } from "./rendezvous.ts";

/** The task's side of a run. */
export interface PartitionRunOptions {
  readonly context: RunContext;
  readonly draws: DrawCounts;
  /** Leaves a tensor for its receiver. */
  send(key: string, value: Sent): void;
  /** The tensor under a key, of this task or another one. */
  receive(key: string): Promise<Sent> | Sent;
}

interface Ready {
  readonly item: Item;
  readonly frame: Frame;
  readonly iteration: Iteration;
  readonly isDead: boolean;
}

export class PartitionRun {
  readonly #cut: CutPartition;
  readonly #options: PartitionRunOptions;
  readonly #ready: Ready[] = [];
  readonly #root: Frame;
  #running = 0;
  #isOver = false;
  #resolve = (): void => {};
  #reject = (_: unknown): void => {};

  constructor(cut: CutPartition, options: PartitionRunOptions) {
    this.#cut = cut;
    this.#options = options;
    this.#root = new Frame("", { id: 0n, parent: null, entering: 0, parallel: 1 });
  }

  run(): Promise<void> {
    const iteration = this.#begin(this.#root, 0);
    for (const item of this.#cut.items) {
      if (item.inputs === 0 && item.waits === 0) {
        this.#push({ item, frame: this.#root, iteration, isDead: false });
      }
    }
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#options.context.onAbort((reason) => this.#fail(reason));
      this.#go();
    });
  }

  #begin(frame: Frame, number: number): Iteration {
    const iteration = new Iteration(number, this.#cut.frameSizes.get(frame.name) ?? 0);
    frame.iterations.set(number, iteration);
    return iteration;
  }

  #push(ready: Ready): void {
    ready.iteration.outstanding++;
    this.#ready.push(ready);
  }

  /** Runs ready items until all wait for others or are done. */
  #go(): void {
    try {
      while (this.#ready.length > 0 && !this.#isOver) {
        const pause = this.#options.context.turn();
        if (pause !== null) return this.#waitFor(pause);
        this.#start(this.#ready.pop()!);
      }
    } catch (error) {
      return this.#fail(error);
    }
    if (this.#running === 0 && !this.#isOver) {
      this.#end();
      this.#resolve();
    }
  }

  #waitFor(pause: Promise<void>): void {
    this.#running++;
    pause.then(() => {
      this.#running--;
      this.#go();
    }, (error) => this.#fail(error));
  }

  #start(ready: Ready): void {
    const { iteration, item } = ready, inputs = iteration.inputs[item.index];
    const out = this.#process(ready, inputs as Token[]);
    if (!(out instanceof Promise)) return this.#finish(ready, out);
    this.#running++;
    out.then((tokens) => {
      this.#running--;
      if (this.#isOver) return void tokens?.forEach(releaseValue);
      try {
        this.#finish(ready, tokens);
      } catch (error) {
        return this.#fail(error);
      }
      this.#go();
    }, (error) => this.#fail(error));
  }

  /** Computes the outputs of an item, which the turn is to own; null where all are dead. */
  #process(
    { item, frame, iteration, isDead }: Ready,
    inputs: readonly Token[],
  ): Token[] | null | Promise<Token[] | null> {
    switch (item.kind) {
      case "send":
        return this.#send(this.#key(item, frame, iteration), inputs[0]);
      case "receive":
        return this.#receive(this.#key(item, frame, iteration));
      case "merge": {
        const k = inputs.findIndex((x) => x !== null && x !== undefined);
        return k < 0 ? null : [shared(inputs[k]!), new NdArray("int32", [], Int32Array.of(k))];
      }
    }
    if (isDead) return null;
    switch (item.kind) {
      case "switch":
        return this.#switch(item, inputs as readonly RunValue[]);
      case "piece":
        return item.program!.run(
          inputs as readonly RunValue[],
          this.#options.context,
          this.#options.draws,
        );
      default:
        return [shared(inputs[0]!)];
    }
  }

  #key({ attr }: Item, frame: Frame, iteration: Iteration): string {
    const part = (name: string): string => text(attr[name]?.s ?? "");
    const incarnation = BigInt.asUintN(64, BigInt(attr.send_device_incarnation?.i ?? 0));
    return `${part("send_device")};${incarnation.toString(16).padStart(16, "0")};${
      part("recv_device")
    };${part("tensor_name")};${frame.id}:${iteration.number}`;
  }

  #send(key: string, token: Token): Token[] | Promise<Token[]> {
    const leave = ([value]: readonly Sent[]): Token[] => {
      this.#options.send(key, value);
      return [];
    };
    if (token === null || token instanceof NdArray) return leave([token]);
    const read = toHost([shared(token)], this.#options.context);
    return read instanceof Promise ? read.then(leave) : leave(read);
  }

  #receive(key: string): Token[] | null | Promise<Token[] | null> {
    const live = (value: Sent): Token[] | null => value === null ? null : [value];
    const value = this.#options.receive(key);
    return value instanceof Promise ? value.then(live) : live(value);
  }

  #switch(
    { attr }: Item,
    [value, choice]: readonly RunValue[],
  ): Token[] | Promise<Token[]> {
    const count = Number(attr.num_outs?.i ?? 2);
    const choose = (taken: number): Token[] => {
      const at = attr.num_outs !== undefined && !(taken >= 0 && taken < count) ? count - 1 : taken;
      const kept = shared(value);
      return Array.from({ length: count }, (_, k) => k === at ? kept : null);
    };
    const read = choice instanceof NdArray ? [choice] : toHost([shared(choice)]);
    return read instanceof Promise
      ? read.then(([c]) => choose(Number(c.at(0))))
      : choose(Number(read[0].at(0)));
  }

  /** Hands the outputs of an item on. */
  #finish(ready: Ready, tokens: readonly Token[] | null): void {
    const { item, frame, iteration } = ready;
    iteration.inputs[item.index] = NO_INPUTS;
    switch (item.kind) {
      case "enter":
        this.#enter(ready, tokens);
        break;
      case "exit":
        if (tokens === null) { if (iteration.number === frame.last) frame.deadExits.push(item); }
        else if (frame.parent !== null) {
          const { frame: outer, iteration: at } = frame.parent;
          this.#own(at.owned, tokens);
          this.#activate(item, tokens, outer, at);
        }
        break;
      case "next":
        if (tokens !== null) this.#next(item, tokens[0], frame, iteration);
        break;
      default:
        if (tokens !== null) this.#own(iteration.owned, tokens);
        this.#activate(item, tokens, frame, iteration);
    }
    iteration.outstanding--;
    this.#cleanUp(frame, iteration);
  }

  #own(owned: RunValue[], tokens: readonly Token[]): void {
    for (const t of tokens) if (t instanceof EagerTensor || isHandle(t)) owned.push(t as RunValue);
  }

  #enter({ item, frame, iteration }: Ready, tokens: readonly Token[] | null): void {
    const name = frameName(item);
    let child = iteration.children.get(name);
    if (child === undefined) {
      child = new Frame(name, {
        id: frameId(frame.id, iteration.number, name),
        parent: { frame, iteration },
        entering: this.#cut.enters.get(name)!,
        parallel: Number(item.attr.parallel_iterations?.i ?? 10),
      });
      iteration.children.set(name, child);
      this.#begin(child, 0);
    }
    if (tokens !== null) this.#own(child.owned, tokens);
    if (item.attr.is_constant?.b) {
      child.invariants.push({ item, token: tokens?.[0] ?? null });
      for (const at of child.iterations.values()) this.#activate(item, tokens, child, at);
    } else {
      const first = child.iterations.get(0)!;
      this.#activate(item, tokens, child, first);
    }
    child.entering--;
    this.#cleanUp(child, child.iterations.get(0)!);
  }

  #next(item: Item, token: Token, frame: Frame, { number }: Iteration): void {
    if (number !== frame.last) {
      const at = frame.iterations.get(number + 1)!;
      this.#own(at.owned, [token]);
      return this.#activate(item, [token], frame, at);
    }
    frame.waiting.push({ item, token });
    if (frame.iterations.size < frame.parallel) this.#turn(frame);
  }

  /** Begins the next turn of a frame. */
  #turn(frame: Frame): void {
    const at = this.#begin(frame, ++frame.last), { waiting } = frame;
    frame.waiting = [];
    frame.deadExits = [];
    // The turn must not end before all its values have arrived.
    at.outstanding++;
    for (const { item, token } of waiting) {
      this.#own(at.owned, [token]);
      this.#activate(item, [token], frame, at);
    }
    for (const { item, token } of frame.invariants) this.#activate(item, [token], frame, at);
    at.outstanding--;
  }

  /** Passes the outputs of an item to its readers in a turn; null: all are dead. */
  #activate(item: Item, tokens: readonly Token[] | null, frame: Frame, at: Iteration): void {
    item.outputs.forEach((edges, k) => {
      for (const edge of edges) this.#give(item, edge, tokens?.[k] ?? null, frame, at);
    });
    for (const to of item.before) {
      this.#prepare(to, at);
      const { index } = to;
      at.pending[index]--;
      if (to.kind === "merge") this.#tryMerge(to, frame, at);
      else {
        if (tokens === null) at.dead[index]++;
        this.#tryStart(to, frame, at);
      }
    }
  }

  #give(from: Item, { to, slot }: Edge, token: Token, frame: Frame, at: Iteration): void {
    this.#prepare(to, at);
    const { index } = to;
    if (to.kind !== "merge") {
      at.inputs[index][slot] = token;
      if (token === null) at.dead[index]++;
      at.pending[index]--;
      return this.#tryStart(to, frame, at);
    }
    if (token !== null) {
      if (at.live[index] === 0) at.inputs[index][slot] = token;
      at.live[index] = 1;
    } else {
      // The back edge of a loop that never begins carries no value.
      at.dead[index] += from.kind === "enter" ? to.inputs : 1;
    }
    this.#tryMerge(to, frame, at);
  }

  #prepare({ index, kind, inputs, waits }: Item, at: Iteration): void {
    if (at.pending[index] !== -1) return;
    at.pending[index] = kind === "merge" ? waits : waits + inputs;
    at.inputs[index] = new Array(inputs);
  }

  #tryStart(item: Item, frame: Frame, iteration: Iteration): void {
    if (iteration.pending[item.index] !== 0) return;
    this.#push({ item, frame, iteration, isDead: iteration.dead[item.index] > 0 });
  }

  #tryMerge(item: Item, frame: Frame, iteration: Iteration): void {
    const { index } = item;
    const isLive = iteration.live[index] === 1, isDead = iteration.dead[index] >= item.inputs;
    if (iteration.pending[index] !== 0 || !isLive && !isDead) return;
    // The item runs once: -2 is never counted down to zero again.
    iteration.pending[index] = -2;
    this.#push({ item, frame, iteration, isDead: !isLive });
  }

  /** Ends turns that are over, and the frame with the last of them. */
  #cleanUp(frame: Frame, from: Iteration): void {
    if (frame.parent === null) return;
    for (let at: Iteration | undefined = from; at !== undefined;) {
      const isFirst = at.number === 0 ? frame.entering === 0 : !frame.iterations.has(at.number - 1);
      if (at.outstanding > 0 || at.children.size > 0 || !isFirst) return;
      frame.iterations.delete(at.number);
      at.owned.forEach(releaseValue);
      if (frame.waiting.length > 0) this.#turn(frame);
      at = frame.iterations.get(at.number + 1);
    }
    if (frame.iterations.size > 0) return;
    const { frame: outer, iteration } = frame.parent;
    frame.owned.forEach(releaseValue);
    iteration.children.delete(frame.name);
    for (const exit of frame.deadExits) this.#activate(exit, null, outer, iteration);
    this.#cleanUp(outer, iteration);
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#end();
    this.#options.context.abort(error);
    this.#reject(error);
  }

  /** Frees all values that are left. */
  #end(): void {
    this.#isOver = true;
    const open: Frame[] = [this.#root];
    for (let frame = open.pop(); frame !== undefined; frame = open.pop()) {
      frame.owned.forEach(releaseValue);
      for (const { token } of frame.waiting) releaseValue(token);
      for (const at of frame.iterations.values()) {
        at.owned.forEach(releaseValue);
        open.push(...at.children.values());
      }
    }
  }
}

function isHandle(t: Token): boolean {
  return t instanceof NdArray && DTYPES[t.dtype].kind === "handle";
}

/** Retains a value for another owner. */
function shared(value: RunValue): RunValue {
  if (value instanceof EagerTensor) return value.hold();
  return isHandle(value) ? copyArray(value) : value;
}
