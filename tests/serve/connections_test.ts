/** Connections of a client are bounded, and requests of one wait for each other, not those of others for them. */
import { assert, assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { nextTask } from "../../src/engine/runtime/run/timers.ts";
import { Pipeline, Places } from "../../src/serve/connections.ts";
import { listen } from "../../src/serve/listener.ts";
import { Turns } from "../../src/serve/turns.ts";
import { HOST, say } from "./sockets.ts";

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

Deno.test("a connection has four requests answered at a time, in their order, and others do not wait", async () => {
  const begun = new Begun(0), many = new Pipeline(begun.turns), other = new Pipeline(begun.turns);
  begun.send(many, names(0, 12));
  assertEquals(await begun.first(4), names(0, 4));
  begun.send(other, ["other"], true);
  assertEquals(await begun.first(5), [...names(0, 4), "other"]);
  other.ended();
  many.ended();
  assertEquals((await begun.first(6)).at(-1), "4");
  for (let i = 0; i < 7; i++) many.ended();
  assertEquals((await begun.first(13)).slice(5), names(4, 12));
  // All places are free again.
  for (let i = 0; i < 4; i++) many.ended();
  begun.send(many, names(12, 20));
  assertEquals((await begun.first(17)).slice(13), names(12, 16));
});

Deno.test("a request that is alone on its connection begins before those that wait on others", async () => {
  const begun = new Begun(2), many = new Pipeline(begun.turns), other = new Pipeline(begun.turns);
  begun.send(many, names(0, 3));
  begun.send(other, ["other"], true);
  assertEquals(await begun.first(4), ["0", "other", "1", "2"]);
});

Deno.test("a client has as many connections as it may, and others have theirs", () => {
  let now = 0;
  const places = new Places(3, () => now);
  const taken = (client: string, count: number): readonly boolean[] =>
    Array.from({ length: count }, () => places.take(client));
  assertEquals(taken("a", 5), [true, true, true, false, false]);
  assertEquals(taken("b", 4), [true, true, true, false]);
  // Those that end make room, but no more are begun within a second than there may be.
  places.leave("a");
  assertEquals(taken("a", 1), [false]);
  now = 999;
  assertEquals(taken("a", 1), [false]);
  now = 1000;
  assertEquals(taken("a", 2), [true, false]);
  for (let i = 0; i < 3; i++) places.leave("a");
  assertEquals(taken("a", 3), [true, true, false]);
  now = 2000;
  assertEquals([taken("a", 2), taken("b", 1)], [[true, false], [false]]);
});

const GET = "GET / HTTP/1.1\r\nHost: h\r\n";

Deno.test("connections beyond those that a client may have are ended unanswered, and one that ends makes room", async () => {
  let asked = 0, clock = 0;
  using _ = stub(performance, "now", () => clock);
  const answer = (): Promise<Response> => Promise.resolve(new Response(`${++asked}`));
  const most = 4,
    listener = await listen({ hostname: HOST, port: 0, mostConnections: most }, answer);
  const open = await Promise.all(
    Array.from({ length: 10 }, () => Deno.connect({ hostname: HOST, port: listener.port })),
  );
  const buffer = new Uint8Array(1000);
  const said = await Promise.all(open.map(async (socket) => {
    await socket.write(new TextEncoder().encode(`${GET}\r\n`)).catch(() => {});
    return await socket.read(buffer.slice()).catch(() => null);
  }));
  assertEquals(said.filter((bytes) => bytes !== null).length, most);
  assertEquals(asked, most);
  for (const socket of open) socket.close();
  // Those of the next second have room.
  for (let isAnswered = false; !isAnswered; clock += 1000) {
    const said = await say(listener.port, `${GET}Connection: close\r\n\r\n`).catch(() => "");
    isAnswered = said.startsWith("HTTP/1.1 200 ");
  }
  await listener.close();
});

Deno.test("connections that end before their turn begin nothing, and requests of others are answered", async () => {
  const listener = await listen({ hostname: HOST, port: 0 }, ({ url }) => {
    return Promise.resolve(new Response(url));
  });
  for (let i = 0; i < 200; i++) {
    const socket = await Deno.connect({ hostname: HOST, port: listener.port });
    if (i % 2 === 0) await socket.write(new TextEncoder().encode("POST / HTTP/1.1\r\nHo"));
    socket.close();
  }
  assert((await say(listener.port, `${GET}Connection: close\r\n\r\n`)).includes("http://h/"));
  await listener.close();
});
