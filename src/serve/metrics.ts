/** Counts and times of requests in the text format of Prometheus. */

/** Upper bounds of the buckets of times in seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Upper bounds of the buckets of rows of a run. */
const ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

type Labels = Readonly<Record<string, string>>;

const escaped = (text: string): string =>
  text.replace(/[\\"\n]/g, (c) => c === "\n" ? "\\n" : `\\${c}`);

function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(([k, v]) => `${k}="${escaped(v)}"`);
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}

/** A growing value for each set of labels. */
class Counter {
  readonly #values = new Map<string, number>();

  add(labels: Labels): void {
    const key = labelText(labels);
    this.#values.set(key, (this.#values.get(key) ?? 0) + 1);
  }

  lines(name: string): string[] {
    return [...this.#values].map(([labels, n]) => `${name}${labels} ${n}`);
  }
}

interface Distribution {
  readonly labels: Labels;
  readonly counts: number[];
  sum: number;
  count: number;
}

/** A distribution among buckets, for each set of labels. */
class Histogram {
  readonly #ends: readonly number[];
  readonly #values = new Map<string, Distribution>();

  constructor(ends: readonly number[]) {
    this.#ends = ends;
  }

  observe(labels: Labels, value: number): void {
    const key = labelText(labels);
    let seen = this.#values.get(key);
    if (seen === undefined) {
      seen = { labels, counts: this.#ends.map(() => 0), sum: 0, count: 0 };
      this.#values.set(key, seen);
    }
    const at = this.#ends.findIndex((end) => value <= end);
    if (at >= 0) seen.counts[at]++;
    seen.sum += value;
    seen.count++;
  }

  lines(name: string): string[] {
    return [...this.#values].flatMap(([key, { labels, counts, sum, count }]) => {
      let below = 0;
      return [
        ...counts.map((n, i) => {
          const le = labelText({ ...labels, le: `${this.#ends[i]}` });
          return `${name}_bucket${le} ${below += n}`;
        }),
        `${name}_bucket${labelText({ ...labels, le: "+Inf" })} ${count}`,
        `${name}_sum${key} ${sum}`,
        `${name}_count${key} ${count}`,
      ];
    });
  }
}

/** Metrics of a handler. */
export class Metrics {
  readonly #requests = new Counter();
  readonly #seconds = new Histogram(SECONDS);
  readonly #rows = new Histogram(ROWS);

  /** Counts an answered request. */
  answered(model: string, status: number, ms: number): void {
    this.#requests.add({ model, status: `${status}` });
    this.#seconds.observe({ model }, ms / 1000);
  }

  /** Counts a run of `rows` rows. */
  ran(model: string, rows: number): void {
    this.#rows.observe({ model }, rows);
  }

  /** Formats the metrics for Prometheus. */
  text(active: number, queued: number): string {
    const sections: readonly (readonly [string, string, string, readonly string[]])[] = [
      [
        "weft_requests_total",
        "counter",
        "Requests to models by status.",
        this.#requests.lines("weft_requests_total"),
      ],
      [
        "weft_request_seconds",
        "histogram",
        "Time from a request to its answer.",
        this.#seconds.lines("weft_request_seconds"),
      ],
      ["weft_batch_rows", "histogram", "Rows of each run.", this.#rows.lines("weft_batch_rows")],
      ["weft_active_requests", "gauge", "Requests not answered yet.", [
        `weft_active_requests ${active}`,
      ]],
      ["weft_queued_requests", "gauge", "Requests that wait for a run.", [
        `weft_queued_requests ${queued}`,
      ]],
    ];
    return sections.map(([name, type, help, lines]) =>
      [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n")
    ).join("");
  }
}
