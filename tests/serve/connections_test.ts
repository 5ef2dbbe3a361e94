/** Requests of one connection wait for each other, and not those of others for them. */
import { assertEquals, assertRejects } from "@std/assert";
import { Connections } from "../../src/serve/connections.ts";

/** Requests that are answered when the test says so, by their names. */
class Requests {
  readonly connections = new Connections();
  readonly begun: string[] = [];
  readonly #open = new Map<string, PromiseWithResolvers<Response>>();

  send(connection: string, name: string): Promise<Response> {
    return this.connections.answer(connection, () => {
      this.begun.push(name);
      const open = Promise.withResolvers<Response>();
      this.#open.set(name, open);
      return open.promise;
    });
  }

  end(name: string, error?: Error): void {
    if (error === undefined) this.#open.get(name)!.resolve(new Response(name));
    else this.#open.get(name)!.reject(error);
  }
}

const names = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `${from + i}`);

Deno.test("a connection has 32 requests answered at a time, in their order, and others do not wait", async () => {
  const requests = new Requests(), answers = names(0, 40).map((name) => requests.send("a", name));
  assertEquals(requests.begun, names(0, 32));
  const other = requests.send("b", "other");
  assertEquals(requests.begun.at(-1), "other");
  requests.end("other");
  assertEquals(await (await other).text(), "other");
  requests.end("5");
  await answers[5];
  assertEquals(requests.begun.at(-1), "32");
  for (const name of names(0, 40)) {
    requests.end(name);
    await answers[Number(name)];
  }
  const texts = await Promise.all(answers.map(async (answer) => await (await answer).text()));
  assertEquals(texts, names(0, 40));
  assertEquals(requests.begun, [...names(0, 32), "other", ...names(32, 40)]);
});

Deno.test("a request that fails makes room for the next of its connection", async () => {
  const requests = new Requests(), answers = names(0, 33).map((name) => requests.send("a", name));
  requests.end("0", new TypeError("gone"));
  await assertRejects(() => answers[0]!, TypeError, "gone");
  assertEquals(requests.begun.at(-1), "32");
  for (const name of names(1, 33)) {
    requests.end(name);
    await answers[Number(name)];
  }
});
