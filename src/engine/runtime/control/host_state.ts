/**
 * Finds the parts of a loop that belong on the host: variables of the condition that the host can compute alone, and
 * values that only the host reads. Such a loop does not wait for a device.
 */
import type { Attrs } from "../../core/op.ts";
import type { Branch } from "./branch.ts";
import { defaultDevice, deviceGeneration } from "../devices/devices.ts";
import { feedsOfHost, type HostPlacing, type HostWork, hostWork } from "../plan/place.ts";
import { requiredDevice } from "../plan/required_device.ts";

/** The values of a loop that stay on the host. */
export interface HostState {
  readonly inputs: ReadonlySet<number>;
  /** Feeds and fetches of its condition. */
  readonly cond: HostPlacing;
  /** Feeds and fetches of its body. */
  readonly body: HostPlacing;
}

const NOTHING: ReadonlySet<number> = new Set();
export const NO_HOST: HostPlacing = { feeds: NOTHING, fetches: NOTHING };
const ELSEWHERE: HostState = { inputs: NOTHING, cond: NO_HOST, body: NO_HOST };

/** Caches the state of a body until other devices are in use. */
function remembered(find: (attrs: Attrs) => HostState): (attrs: Attrs) => HostState {
  const known = new WeakMap<object, { readonly generation: number; readonly state: HostState }>();
  return (attrs) => {
    if (defaultDevice().type === "CPU") return ELSEWHERE;
    const found = known.get(attrs.body), generation = deviceGeneration();
    if (found?.generation === generation) return found.state;
    const state = find(attrs);
    known.set(attrs.body, { generation, state });
    return state;
  };
}

/** Finds the host state of a `While`. */
export const hostStateOfWhile: (attrs: Attrs) => HostState = remembered(
  ({ cond, body, output_shapes: { length: count } }) => {
    const c = (cond as Branch).f.ir(), b = (body as Branch).f.ir();
    const work = (value: typeof c.fetches[number]): HostWork | null =>
      hostWork(value, requiredDevice);
    const inCond = new Set<number>(), inBody = new Set<number>();
    const variables = new Set<number>();
    const test = work(c.fetches[0]);
    let isHosts = test !== null;
    for (const feed of test?.feeds ?? []) (feed < count ? variables : inCond).add(feed);
    // The set also yields elements that are added during the iteration.
    for (const i of variables) {
      const next = work(b.fetches[i]);
      isHosts &&= next !== null;
      for (const feed of next?.feeds ?? []) (feed < count ? variables : inBody).add(feed);
    }
    if (!isHosts) {
      for (const set of [variables, inCond, inBody]) set.clear();
    }
    // Captures that only scripts read. Variables change in each turn and stay where the body leaves them.
    for (const feed of feedsOfHost(c)) if (feed >= count) inCond.add(feed);
    for (const feed of feedsOfHost(b)) if (feed >= count) inBody.add(feed);
    for (const i of variables) inCond.add(i), inBody.add(i);
    const at = (branch: Branch) => (feed: number): number =>
      feed < count ? feed : branch.from[feed - count];
    return {
      inputs: new Set([...[...inCond].map(at(cond)), ...[...inBody].map(at(body))]),
      cond: { feeds: inCond, fetches: new Set([0].filter(() => isHosts)) },
      body: { feeds: inBody, fetches: variables },
    };
  },
);

/** Finds the host state of a `Scan`: the rows and captures that only scripts read. */
export const hostStateOfScan: (attrs: Attrs) => HostState = remembered(
  ({ body, elems, states }) => {
    const count = elems + states;
    const feeds = new Set(
      [...feedsOfHost((body as Branch).f.ir())].filter((feed) => feed < elems || feed >= count),
    );
    const inputs = new Set(
      [...feeds].map((feed) => feed < count ? feed : (body as Branch).from[feed - count]),
    );
    return { inputs, cond: NO_HOST, body: { feeds, fetches: NOTHING } };
  },
);
