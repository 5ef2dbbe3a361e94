/** Requests of one connection wait for each other, and not those of others for them. */
import { assertEquals } from "@std/assert";
import { nextTask } from "../../src/engine/runtime/run/timers.ts";
import { Pipeline } from "../../src/serve/connections.ts";
import { Turns } from "../../src/serve/turns.ts";

const names = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `${from + i}`);

/** Pipelines whose requests say that they begin. */
class Begun {
  readonly names: string[] = [];
  readonly turns: Turns;

  /** Each request takes `ms`. */
  constructor(ms: number) {
    this.turns = new Turns(() => ms * this.names.length);
  }

  send(to: Pipeline, names: readonly string[], isAlone = false): void {
    for (const name of names) to.begin(() => void this.names.push(name), isAlone);
  }

  async first(count: number): Promise<readonly string[]> {
    while (this.names.length < count) await nextTask();
    // There may be more than are wanted.
    await nextTask();
    return this.names;
  }
}

Deno.test("a connection has 32 requests answered at a time, in their order, and others do not wait", async () => {
  const begun = new Begun(0), many = new Pipeline(begun.turns), other = new Pipeline(begun.turns);
  begun.send(many, names(0, 40));
  assertEquals(await begun.first(32), names(0, 32));
  begun.send(other, ["other"], true);
  assertEquals(await begun.first(33), [...names(0, 32), "other"]);
  other.ended();
  many.ended();
  assertEquals((await begun.first(34)).at(-1), "32");
  for (let i = 0; i < 7; i++) many.ended();
  assertEquals((await begun.first(41)).slice(33), names(32, 40));
  // All places are free again.
  for (let i = 0; i < 32; i++) many.ended();
  begun.send(many, names(40, 80));
  assertEquals((await begun.first(73)).slice(41), names(40, 72));
});

Deno.test("a request that is alone on its connection begins before those that wait on others", async () => {
  const begun = new Begun(2), many = new Pipeline(begun.turns), other = new Pipeline(begun.turns);
  begun.send(many, names(0, 3));
  begun.send(other, ["other"], true);
  assertEquals(await begun.first(4), ["0", "other", "1", "2"]);
});
