/**
 * Layered layout of a graph: layers by longest paths, few crossings by barycenters, straight lines by least squares. An edge that
 * passes layers goes through a place of its own in each, and edges of one source share these, so that no line crosses a box.
 *
 * Follows Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System Structures" (1981).
 */

/** A graph to place: nodes by number, each behind those that it reads. */
export interface LayoutGraph {
  readonly count: number;
  readonly edges: readonly { readonly from: number; readonly to: number }[];
}

/** Sizes of boxes and of the room between them. */
export interface LayoutSizes {
  readonly width: number;
  readonly height: number;
  /** Room between boxes of a layer. */
  readonly across: number;
  /** Room between layers. */
  readonly down: number;
}

/** A place of the picture. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Places of boxes and edges. */
export interface Layout {
  /** Left upper corners of the boxes. */
  readonly boxes: readonly Point[];
  /** Points of each edge, in pairs: it goes straight from the first of a pair to the second, and bends between pairs. */
  readonly paths: readonly (readonly Point[])[];
  readonly width: number;
  readonly height: number;
}

/** Passes over the layers that order them, and passes that straighten lines. Later ones changed less than 1 % of crossings and lengths. */
const ORDERINGS = 12, STRAIGHTENINGS = 16;
/** Room that a line takes beside others. */
const LINE = 12;
/** Places of lines beyond which edges go straight, over boxes: layout stays below a second. */
const MOST_PLACES = 8_000;

/** A box, or the place of a line in a layer that it passes. */
interface Cell {
  readonly layer: number;
  /** Number of the node; null for a line. */
  readonly node: number | null;
  readonly above: Cell[];
  readonly below: Cell[];
  /** Position in its layer. */
  order: number;
  x: number;
}

/** Places nodes in layers, and edges between them. Of parts without a connection the largest comes first, and the others beside it. */
export function layout(graph: LayoutGraph, sizes: LayoutSizes): Layout {
  const [main, ...rest] = partsOf(graph).map((part) => ({
    ...part,
    ...layoutPart(part.graph, sizes),
  }))
    .sort((a, b) => b.width * b.height - a.width * a.height);
  if (main === undefined) return { boxes: [], paths: [], width: 0, height: 0 };
  const others = shelves(rest, main.height);
  const places = [{ x: 0, y: 0 }, ...others.places.map(({ x, y }) => ({ x: x + main.width, y }))];
  const boxes: Point[] = [], paths: Point[][] = [];
  [main, ...rest].forEach((part, i) => {
    const { x, y } = places[i];
    const move = (p: Point): Point => ({ x: p.x + x, y: p.y + y });
    part.nodes.forEach((node, k) => boxes[node] = move(part.boxes[k]));
    part.links.forEach((edge, k) => paths[edge] = part.paths[k].map(move));
  });
  return {
    boxes,
    paths,
    width: main.width + others.width,
    height: Math.max(main.height, others.height),
  };
}

/** Places parts in rows, about as high together as is wanted. */
function shelves(parts: readonly Pick<Layout, "width" | "height">[], wanted: number) {
  const area = parts.reduce((sum, { width, height }) => sum + width * height, 0);
  const most = Math.max(0, ...parts.map(({ width }) => width), 1.2 * area / wanted);
  let x = 0, y = 0, shelf = 0, width = 0;
  const places = parts.map((part): Point => {
    if (x > 0 && x + part.width > most) {
      y += shelf;
      x = shelf = 0;
    }
    const place = { x, y };
    x += part.width;
    width = Math.max(width, x);
    shelf = Math.max(shelf, part.height);
    return place;
  });
  return { places, width, height: y + shelf };
}

/** Connected parts of a graph, with the numbers that their nodes and edges have in the whole. */
function partsOf({ count, edges }: LayoutGraph) {
  const root = Array.from({ length: count }, (_, i) => i);
  const find = (i: number): number => {
    while (root[i] !== i) i = root[i] = root[root[i]];
    return i;
  };
  for (const { from, to } of edges) root[find(to)] = find(from);
  const parts = new Map<number, { nodes: number[]; links: number[] }>(), at: number[] = [];
  const partOf = (i: number): { nodes: number[]; links: number[] } => {
    const key = find(i);
    if (!parts.has(key)) parts.set(key, { nodes: [], links: [] });
    return parts.get(key)!;
  };
  for (let i = 0; i < count; i++) at[i] = partOf(i).nodes.push(i) - 1;
  edges.forEach(({ from }, e) => partOf(from).links.push(e));
  return [...parts.values()].map(({ nodes, links }) => ({
    nodes,
    links,
    graph: {
      count: nodes.length,
      edges: links.map((e) => ({ from: at[edges[e].from], to: at[edges[e].to] })),
    },
  }));
}

/** Places a connected graph. */
function layoutPart({ count, edges }: LayoutGraph, sizes: LayoutSizes): Layout {
  const layerOf = layersOf(count, edges);
  const cells = layerOf.map((layer, node): Cell => cell(layer, node));
  const routes = connect(cells, edges);
  const layers = orderedLayers([...cells, ...routes.places]);
  reduceCrossings(layers);
  straighten(layers, sizes);
  return drawn(cells, layers, routes.chains, edges, sizes);
}

function cell(layer: number, node: number | null): Cell {
  return { layer, node, above: [], below: [], order: 0, x: 0 };
}

/** Puts each node below all that it reads; those that read nothing directly above the first reader. */
function layersOf(count: number, edges: LayoutGraph["edges"]): number[] {
  const layer = new Array<number>(count).fill(0), first = new Array<number>(count).fill(Infinity);
  const reads = new Array<boolean>(count).fill(false);
  const down = edges.filter(({ from, to }) => from < to).sort((a, b) => a.to - b.to);
  for (const { from, to } of down) {
    layer[to] = Math.max(layer[to], layer[from] + 1);
    reads[to] = true;
  }
  for (const { from, to } of down) first[from] = Math.min(first[from], layer[to]);
  return layer.map((l, i) => reads[i] || first[i] === Infinity ? l : first[i] - 1);
}

/** Connects cells, with places for lines that pass layers: one for all lines of a source. */
function connect(cells: readonly Cell[], edges: LayoutGraph["edges"]) {
  const places: Cell[] = [], trunks = new Map<number, Cell[]>(), joined = new Set<string>();
  const link = (a: Cell, b: Cell): void => {
    a.below.push(b);
    b.above.push(a);
  };
  const chains = edges.map(({ from, to }): Cell[] | null => {
    const a = cells[from], b = cells[to];
    if (a.layer >= b.layer || places.length > MOST_PLACES) return null;
    const trunk = trunks.get(from) ?? [];
    trunks.set(from, trunk);
    for (let l = a.layer + 1 + trunk.length; l < b.layer; l++) {
      const place = cell(l, null);
      link(trunk.at(-1) ?? a, place);
      trunk.push(place);
      places.push(place);
    }
    const chain = trunk.slice(0, b.layer - a.layer - 1);
    const key = `${from} ${to}`;
    if (!joined.has(key)) link(chain.at(-1) ?? a, b);
    joined.add(key);
    return chain;
  });
  return { places, chains };
}

/** The cells by layers, each layer in the order in which a walk along edges meets them. */
function orderedLayers(cells: readonly Cell[]): Cell[][] {
  const layers: Cell[][] = [], seen = new Set<Cell>();
  const stack = cells.filter(({ above }) => above.length === 0).reverse();
  while (stack.length > 0) {
    const next = stack.pop()!;
    if (seen.has(next)) continue;
    seen.add(next);
    const layer = layers[next.layer] ??= [];
    next.order = layer.push(next) - 1;
    for (const other of [...next.below, ...next.above]) if (!seen.has(other)) stack.push(other);
  }
  return Array.from(layers, (layer) => layer ?? []);
}

/** Sorts layers by the means of their neighbours, downwards and upwards in turn, and keeps the best order. */
function reduceCrossings(layers: readonly Cell[][]): void {
  let best = layers.map((layer) => [...layer]), fewest = crossings(layers);
  for (let pass = 0; pass < ORDERINGS && fewest > 0; pass++) {
    const isDown = pass % 2 === 0;
    for (const layer of isDown ? layers : [...layers].reverse()) {
      const middle = new Map(layer.map((c) => {
        const others = isDown ? c.above : c.below;
        const sum = others.reduce((sum, { order }) => sum + order, 0);
        return [c, others.length === 0 ? c.order : sum / others.length];
      }));
      layer.sort((a, b) => middle.get(a)! - middle.get(b)! || a.order - b.order);
      layer.forEach((c, i) => c.order = i);
    }
    const now = crossings(layers);
    if (now >= fewest) continue;
    fewest = now;
    best = layers.map((layer) => [...layer]);
  }
  best.forEach((layer, l) => {
    layers[l].splice(0, layer.length, ...layer);
    layer.forEach((c, i) => c.order = i);
  });
}

/** Number of crossings, counted by inversions of the lower ends (Barth, Jünger and Mutzel, 2002). */
function crossings(layers: readonly Cell[][]): number {
  let count = 0;
  for (const layer of layers) {
    const ends = layer.flatMap(({ below }) =>
      below.map(({ order }) => order).sort((a, b) => a - b)
    );
    const most = Math.max(0, ...ends) + 1, tree = new Array<number>(most + 1).fill(0);
    ends.forEach((end, i) => {
      let notRight = 0;
      for (let k = end + 1; k > 0; k -= k & -k) notRight += tree[k];
      count += i - notRight;
      for (let k = end + 1; k <= most; k += k & -k) tree[k]++;
    });
  }
  return count;
}

/** Moves cells towards their neighbours as far as the order allows; lines pull harder, so that they become straight. */
function straighten(layers: readonly Cell[][], { width, across }: LayoutSizes): void {
  const widthOf = ({ node }: Cell): number => node === null ? LINE : width + across;
  const gaps = layers.map((layer) =>
    layer.map((c, i) => i === 0 ? 0 : (widthOf(layer[i - 1]) + widthOf(c)) / 2)
  );
  layers.forEach((layer, l) => {
    layer.forEach((c, i) => c.x = i === 0 ? 0 : layer[i - 1].x + gaps[l][i]);
  });
  const pull = (a: Cell, b: Cell): number => a.node === null && b.node === null ? 8 : 1;
  for (let pass = 0; pass < STRAIGHTENINGS; pass++) {
    const isLast = pass >= STRAIGHTENINGS - 2, isDown = pass % 2 === 0;
    const order = [...layers.keys()];
    for (const l of isDown ? order : order.reverse()) {
      const wanted = layers[l].map((c) => {
        const others = isLast ? [...c.above, ...c.below] : isDown ? c.above : c.below;
        let sum = 0, weight = 0;
        for (const other of others) {
          sum += pull(c, other) * other.x;
          weight += pull(c, other);
        }
        return weight === 0 ? { x: c.x, weight: 0.01 } : { x: sum / weight, weight };
      });
      const x = nearest(wanted, gaps[l]);
      layers[l].forEach((c, i) => c.x = x[i]);
    }
  }
}

/**
 * The places nearest to the wanted ones, in least squares, that keep the gaps to their left neighbours: pooled means of violators
 * (Barlow et al., 1972).
 */
function nearest(
  wanted: readonly { readonly x: number; readonly weight: number }[],
  gaps: readonly number[],
): number[] {
  const pools: { mean: number; weight: number; size: number }[] = [], offsets: number[] = [];
  let offset = 0;
  wanted.forEach(({ x, weight }, i) => {
    offset += gaps[i];
    offsets.push(offset);
    let pool = { mean: x - offset, weight, size: 1 };
    for (let last = pools.at(-1); last && last.mean > pool.mean; last = pools.at(-1)) {
      const sum = last.weight + pool.weight;
      pool = {
        mean: (last.mean * last.weight + pool.mean * pool.weight) / sum,
        weight: sum,
        size: last.size + pool.size,
      };
      pools.pop();
    }
    pools.push(pool);
  });
  const means = pools.flatMap(({ mean, size }) => new Array<number>(size).fill(mean));
  return means.map((mean, i) => mean + offsets[i]);
}

/** Reads places off the cells. */
function drawn(
  cells: readonly Cell[],
  layers: readonly Cell[][],
  chains: readonly (readonly Cell[] | null)[],
  edges: LayoutGraph["edges"],
  { width, height, across, down }: LayoutSizes,
): Layout {
  const all = layers.flat();
  const half = ({ node }: Cell): number => node === null ? LINE / 2 : width / 2;
  const left = Math.min(...all.map((c) => c.x - half(c)));
  const right = Math.max(...all.map((c) => c.x + half(c)));
  const middle = (c: Cell): number => Math.round(c.x - left + across);
  const top = (layer: number): number => across + layer * (height + down);
  const ports = portsOf(cells, chains, edges, width);
  const paths = edges.map(({ from, to }, e): Point[] => {
    const a = cells[from], b = cells[to];
    const passed = (chains[e] ?? []).flatMap((c) => [
      { x: middle(c), y: top(c.layer) },
      { x: middle(c), y: top(c.layer) + height },
    ]);
    const start = { x: middle(a), y: top(a.layer) + height };
    return [start, ...passed, { x: middle(b) + ports[e], y: top(b.layer) }];
  });
  return {
    boxes: cells.map((c) => ({ x: middle(c) - width / 2, y: top(c.layer) })),
    paths,
    width: Math.ceil(right - left + 2 * across),
    height: top(layers.length) - down + across,
  };
}

/** Moves of the lower ends of edges off the middle of their box: from left to right as their sources lie. */
function portsOf(
  cells: readonly Cell[],
  chains: readonly (readonly Cell[] | null)[],
  edges: LayoutGraph["edges"],
  width: number,
): number[] {
  const ports = new Array<number>(edges.length).fill(0), into = new Map<number, number[]>();
  edges.forEach(({ to }, e) => {
    if (!into.has(to)) into.set(to, []);
    into.get(to)!.push(e);
  });
  const above = (e: number): number => (chains[e]?.at(-1) ?? cells[edges[e].from]).x;
  for (const list of into.values()) {
    list.sort((a, b) => above(a) - above(b));
    const step = Math.min(LINE, 0.8 * width / list.length);
    list.forEach((e, i) => ports[e] = Math.round((i - (list.length - 1) / 2) * step));
  }
  return ports;
}
