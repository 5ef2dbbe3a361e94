/** A worker begins its requests by turns: one that its client waits for alone goes before those of many, and none that was given up begins. */
import { assertEquals } from "@std/assert";
import { nextTask } from "../../src/engine/runtime/run/timers.ts";
import { WorkerScope } from "./worker_scope.ts";

/** A worker whose handler says what it begins, and answers when it is told to. */
class Scope implements Disposable {
  readonly begun: string[] = [];
  readonly #open = new Map<string, (answer: Response) => void>();
  readonly #scope = new WorkerScope({
    fetch: async (request) => {
      const name = new URL(request.url).pathname.slice(1);
      this.begun.push(name);
      if (!name.startsWith("held")) return new Response(name);
      return await new Promise((resolve) => this.#open.set(name, resolve));
    },
    drain: () => Promise.resolve(),
  });

  ask(id: number, name: string, isAlone: boolean): void {
    const url = `http://localhost/${name}`;
    this.hear({ kind: "request", id, url, method: "GET", headers: [], isAlone, body: null });
  }

  hear(data: unknown): void {
    this.#scope.hear(data);
  }

  end(name: string): void {
    this.#open.get(name)!(new Response(name));
  }

  /** Returns the numbers of so many requests that are answered, in their order. */
  async answered(count: number): Promise<readonly (number | undefined)[]> {
    const ids = (): (number | undefined)[] =>
      this.#scope.replies.filter(({ kind }) => kind === "response").map(({ id }) => id);
    while (ids().length < count) await nextTask();
    // There may be more than are wanted.
    await nextTask();
    return ids();
  }

  [Symbol.dispose](): void {
    this.#scope[Symbol.dispose]();
  }
}

Deno.test("a worker begins what clients wait for alone before the rest of many requests", async () => {
  using scope = new Scope();
  for (let i = 0; i < 4; i++) scope.ask(i, `many${i}`, false);
  scope.ask(4, "alone", true);
  // One runs at a time.
  assertEquals(scope.begun, ["many0"]);
  assertEquals(await scope.answered(5), [0, 4, 1, 2, 3]);
});

Deno.test("a request that waits for the event loop lets others begin", async () => {
  using scope = new Scope();
  scope.ask(0, "held", false);
  for (let i = 1; i < 4; i++) scope.ask(i, `many${i}`, false);
  assertEquals(await scope.answered(3), [1, 2, 3]);
  scope.end("held");
  assertEquals(await scope.answered(4), [1, 2, 3, 0]);
});

Deno.test("a request whose client leaves before its turn is not begun, and those after it are", async () => {
  using scope = new Scope();
  for (let i = 0; i < 4; i++) scope.ask(i, `many${i}`, false);
  for (const id of [1, 2, 9]) scope.hear({ kind: "abort", id });
  assertEquals(await scope.answered(2), [0, 3]);
  assertEquals(scope.begun, ["many0", "many3"]);
});
