/** Clients take turns: however many connections and requests one has, another waits for one of them. */
import { assertEquals } from "@std/assert";
import { nextTask } from "../../src/engine/runtime/run/timers.ts";
import { clientOf, FairQueue } from "../../src/serve/fair_queue.ts";
import { Pipeline } from "../../src/serve/connections.ts";
import { Turns } from "../../src/serve/turns.ts";

function order(pushed: readonly string[]): string {
  const queue = new FairQueue<string>();
  for (const name of pushed) queue.push(name[0]!, name);
  let said = "";
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) said += `${next} `;
  assertEquals(queue.isEmpty, true);
  return said.trim();
}

const ORDERS: Readonly<Record<string, readonly [readonly string[], string]>> = {
  "one client": [["a1", "a2", "a3"], "a1 a2 a3"],
  "one of many works and one of one": [["a1", "a2", "a3", "b1"], "a1 b1 a2 a3"],
  "three by turns": [["a1", "a2", "b1", "b2", "c1", "a3"], "a1 b1 c1 a2 b2 a3"],
  "none": [[], ""],
};

for (const [name, [pushed, wanted]] of Object.entries(ORDERS)) {
  Deno.test(`a fair queue has the works of clients by turns: ${name}`, () => {
    assertEquals(order(pushed), wanted);
  });
}

Deno.test("a client that comes again while others wait is behind them, and one alone does not wait", () => {
  const queue = new FairQueue<string>();
  queue.push("a", "a1");
  queue.push("a", "a2");
  assertEquals(queue.shift(), "a1");
  queue.push("b", "b1");
  queue.push("a", "a3");
  // It was the turn of the first already, and is again after the other's.
  assertEquals([queue.shift(), queue.shift(), queue.shift()], ["a2", "b1", "a3"]);
  assertEquals([queue.shift(), queue.isEmpty], [undefined, true]);
  queue.push("b", "b2");
  assertEquals([queue.isEmpty, queue.shift()], [false, "b2"]);
});

Deno.test("a fair queue keeps nothing of clients that wait no more", () => {
  const queue = new FairQueue<number>();
  for (let i = 0; i < 10_000; i++) {
    queue.push(`${i}`, i);
    assertEquals(queue.shift(), i);
  }
  assertEquals(queue.isEmpty, true);
});

const ADDRESSES: Readonly<Record<string, string>> = {
  "127.0.0.1": "127.0.0.1",
  "::ffff:10.1.2.3": "10.1.2.3",
  "2001:db8:1:2:3:4:5:6": "2001:db8:1:2",
  "2001:db8:1:2::6": "2001:db8:1:2",
  "2001:db8::1": "2001:db8:0:0",
  "::1": "0:0:0:0",
  "fe80::1%eth0": "fe80:0:0:0",
  "": "",
};

for (const [address, client] of Object.entries(ADDRESSES)) {
  Deno.test(`the client of "${address}" is "${client}"`, () => {
    assertEquals(clientOf(address), client);
  });
}

Deno.test("a hundred connections of one client share the turns of another's only one", async () => {
  let now = 0;
  const turns = new Turns(() => now), begun: string[] = [];
  // Each work fills a turn.
  const request = (name: string) => (): void => {
    now += 2;
    begun.push(name);
  };
  for (let i = 0; i < 100; i++) new Pipeline(turns.of("many")).begin(request("many"), true);
  for (let i = 0; i < 3; i++) new Pipeline(turns.of("few")).begin(request("few"), true);
  while (begun.length < 103) await nextTask();
  assertEquals(begun.slice(0, 7), ["many", "many", "few", "many", "few", "many", "few"]);
});

Deno.test("rests of one client wait for one of another's, and for all that are fresh", async () => {
  let now = 0;
  const turns = new Turns(() => now), done: string[] = [];
  const take = (client: string, isFresh: boolean): void =>
    turns.of(client).take(() => {
      now += 2;
      done.push(client + (isFresh ? "!" : ""));
    }, isFresh);
  for (let i = 0; i < 4; i++) take("a", false);
  for (let i = 0; i < 2; i++) take("b", false);
  take("c", true);
  take("a", true);
  while (done.length < 8) await nextTask();
  assertEquals(done, ["a", "c!", "a!", "a", "b", "a", "b", "a"]);
});
