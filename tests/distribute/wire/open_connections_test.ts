/** Connections that ask for nothing give their places to others. */
import { assertEquals } from "@std/assert";
import { OpenConnections } from "../../../src/cluster/wire/open_connections.ts";

/** Connections by name, with their numbers of calls, and which of them have ended. */
class Connections {
  readonly all = new OpenConnections<{ open: number; destroy(): void }>(3);
  readonly ended: string[] = [];

  add(name: string, open: number): { open: number; destroy(): void } {
    const connection = {
      open,
      destroy: () => {
        this.ended.push(name);
        this.all.delete(connection);
      },
    };
    this.all.add(connection);
    return connection;
  }
}

for (
  const [calls, ended] of [
    [[0, 0, 0], []],
    [[0, 0, 0, 0], ["0"]],
    [[1, 0, 0, 0, 0], ["1", "2"]],
    [[1, 2, 3, 0], ["3"]],
    [[1, 2, 3, 0, 0], ["3", "4"]],
  ] as const
) {
  Deno.test(`of 3 connections of which the next ones come with ${calls.join()} calls, ${ended.join() || "none"} ends`, () => {
    const connections = new Connections();
    for (const [i, open] of calls.entries()) connections.add(`${i}`, open);
    assertEquals(connections.ended, [...ended]);
    assertEquals([...connections.all].length, calls.length - ended.length);
  });
}

Deno.test("a connection that has ended by itself leaves its place", () => {
  const connections = new Connections(), first = connections.add("first", 1);
  for (const name of ["second", "third"]) connections.add(name, 1);
  first.destroy();
  connections.add("fourth", 1);
  assertEquals(connections.ended, ["first"]);
});
