// All attacks of the soak, and those among them that are asked for.

import type { Attack, Targets } from "./attack.ts";
import { FRAMES } from "./frames.ts";
import { DATASETS, SESSIONS } from "./graphs.ts";
import { REQUESTS } from "./requests.ts";

/** Attacks by the server that they want; null for any. */
const ATTACKS: readonly (readonly [keyof Targets | null, Readonly<Record<string, Attack>>])[] = [
  ["serve", REQUESTS],
  [null, FRAMES],
  ["server", SESSIONS],
  ["dispatcher", DATASETS],
];

/** The attacks on some servers, by their names, which hold one of the texts in `text`, parted by commas. Throws `RangeError` where there is none. */
export function attacksOn(
  servers: readonly string[],
  text: string,
): readonly (readonly [string, Attack])[] {
  const all = ATTACKS.flatMap(([server, attacks]) =>
    server === null || servers.includes(server) ? Object.entries(attacks) : []
  );
  const texts = text.split(",");
  const found = all.filter(([name]) => texts.some((part) => name.includes(part.trim())));
  if (found.length > 0) return found;
  throw new RangeError(
    `Cannot attack by "${text}": wanted a part of a name, such as ${
      all.map(([name]) => `"${name}"`).join(", ")
    }`,
  );
}
