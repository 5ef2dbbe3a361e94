import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { drawChart, type Panel } from "../../examples/mnist/chart.ts";

function draw(panels: Panel[]): string {
  return drawChart({ title: "A < B & C", subtitle: "under", horizontal: "steps", panels });
}

const LINE: Panel = {
  title: "Up",
  series: [{ name: "line", color: "#123456", points: [[0, 1], [50, 2], [100, 4]] }],
};

/** Places of a polyline's points. */
function places(svg: string): number[][] {
  return [...svg.matchAll(/points="([^"]*)"/g)].map((m) => m[1].split(/[ ,]/).map(Number));
}

/** Texts of the marks of an axis: those that end where they are put. */
function marks(svg: string, anchor: "end" | "middle"): string[] {
  return [...svg.matchAll(new RegExp(`text-anchor="${anchor}"[^>]*>([^<]*)<`, "g"))].map((m) =>
    m[1]
  );
}

Deno.test("drawChart() is well-formed, with its texts escaped", () => {
  const svg = draw([LINE]);
  assertStringIncludes(svg, "A &lt; B &amp; C");
  const stack: string[] = [];
  for (const [, close, name, self] of svg.matchAll(/<(\/?)(\w+)[^>]*?(\/?)>/g)) {
    if (close) assertEquals(stack.pop(), name);
    else if (!self) stack.push(name);
  }
  assertEquals(stack, []);
  assert(!/NaN|Infinity|undefined/.test(svg), svg);
});

Deno.test("drawChart() places points in proportion", () => {
  const [[x0, y0, x1, y1, x2, y2]] = places(draw([LINE]));
  assertEquals(x1 - x0, x2 - x1);
  assert(Math.abs((y0 - y1) * 2 - (y1 - y2)) < 0.5, `${y0} ${y1} ${y2}`);
});

Deno.test("drawChart() places equal factors apart equally on a logarithmic axis", () => {
  const [[, y0, , y1, , y2]] = places(draw([{ ...LINE, logarithmic: true }]));
  assert(Math.abs((y0 - y1) - (y1 - y2)) < 0.3, `${y0} ${y1} ${y2}`);
});

Deno.test("drawChart() marks round values", () => {
  const svg = draw([LINE]);
  assertEquals(marks(svg, "end"), ["1", "2", "3", "4"]);
  assertEquals(marks(svg, "middle"), ["0", "20", "40", "60", "80", "100", "steps"]);
  const percent = draw([{
    ...LINE,
    series: [{ name: "p", color: "red", points: [[0, 0.91], [1, 0.993]] }],
    limits: [0, 1],
    format: (v) => `${Math.round(v * 100)} %`,
  }]);
  assertEquals(marks(percent, "end"), ["90 %", "92 %", "94 %", "96 %", "98 %", "100 %"]);
  const logarithmic = draw([{
    ...LINE,
    logarithmic: true,
    series: [{ name: "l", color: "red", points: [[0, 0.01], [1, 100]] }],
  }]);
  assertEquals(marks(logarithmic, "end"), ["0.01", "0.1", "1", "10", "100"]);
});

Deno.test("drawChart() draws one point, and equal ones", () => {
  for (const points of [[[3, 5]], [[0, 0], [1, 0]], [[0, -2], [1, -2]]] as [number, number][][]) {
    const svg = draw([{ title: "t", series: [{ name: "n", color: "red", points, dots: true }] }]);
    assert(!/NaN|Infinity/.test(svg), svg);
  }
});

Deno.test("drawChart() puts panels one above the other", () => {
  const svg = draw([LINE, LINE]);
  const [[, first], [, second]] = places(svg);
  assert(second > first + 190);
});

Deno.test("drawChart() refuses to draw nothing", () => {
  assertThrows(() => draw([]), RangeError, "no series has a point");
  assertThrows(() => draw([{ title: "t", series: [] }]), RangeError);
});
