/** Pages of other origins: what they are told before they ask, and which of them may read answers. */
import { createHandler } from "@weft/weft/serve";
import { assertEquals, assertThrows } from "@std/assert";
import { square } from "./models.ts";

const PAGE = "https://page.example", OTHER = "https://other.example";

/** Asks as a page of `origin` does; `null` for a program that is no page. */
function from(origin: string | null, path: string, init: RequestInit = {}): Request {
  const headers = new Headers(init.headers);
  if (origin !== null) headers.set("origin", origin);
  return new Request(`http://localhost${path}`, { ...init, headers });
}
const BEFORE = {
  method: "OPTIONS",
  headers: {
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type",
  },
};
const PREDICT = { method: "POST", body: JSON.stringify({ instances: [[1, 2]] }) };
const PATH = "/v1/models/square:predict";

const allowed = ({ headers }: Response): string | null =>
  headers.get("access-control-allow-origin");

for (
  const [origins, origin, wanted] of [
    [[PAGE], PAGE, PAGE],
    [[OTHER, PAGE], PAGE, PAGE],
    [["*"], PAGE, "*"],
    [[PAGE], OTHER, null],
    [[PAGE], "null", null],
    [[PAGE], null, null],
    [[], PAGE, null],
    [undefined, PAGE, null],
  ] as const
) {
  Deno.test(`a handler with origins ${origins} tells a page of ${origin} that it may ask: ${wanted}`, async () => {
    const { fetch } = createHandler({
      models: { square: square().f },
      ...(origins !== undefined && { origins }),
    });
    const before = await fetch(from(origin, PATH, BEFORE));
    assertEquals([before.status, allowed(before)], [wanted === null ? 405 : 200, wanted]);
    if (wanted !== null) {
      const { headers } = before;
      assertEquals(headers.get("access-control-allow-methods"), "GET, POST");
      const names = headers.get("access-control-allow-headers")!.split(", ");
      assertEquals(["authorization", "content-type"].every((name) => names.includes(name)), true);
    }
    for (
      const [request, status] of [
        [from(origin, PATH, PREDICT), 200],
        [from(origin, PATH, { method: "POST", body: "no JSON" }), 400],
        [from(origin, "/v1/models/none:predict", PREDICT), 404],
        [from(origin, "/v2/health/ready"), 200],
      ] as const
    ) {
      const response = await fetch(request);
      assertEquals([response.status, allowed(response)], [status, wanted]);
      await response.body?.cancel();
      const varies = (origins ?? []).length > 0 && !origins!.includes("*" as never);
      assertEquals(response.headers.get("vary"), varies ? "origin" : null);
    }
  });
}

Deno.test("a page may ask before it has the token, and reads that it needs one", async () => {
  const { fetch } = createHandler({
    models: { square: square().f },
    token: "secret",
    origins: [PAGE],
  });
  assertEquals((await fetch(from(PAGE, PATH, BEFORE))).status, 200);
  const refused = await fetch(from(PAGE, PATH, PREDICT));
  assertEquals([refused.status, allowed(refused)], [401, PAGE]);
  const answer = await fetch(
    from(PAGE, PATH, { ...PREDICT, headers: { authorization: "Bearer secret" } }),
  );
  assertEquals(await answer.json(), { predictions: [[1, 4]] });
});

Deno.test("OPTIONS that is no page's question stays refused", async () => {
  const { fetch } = createHandler({ models: { square: square().f }, origins: ["*"] });
  assertEquals((await fetch(from(PAGE, PATH, { method: "OPTIONS" }))).status, 405);
});

Deno.test("createHandler() refuses texts that are no origins", () => {
  const models = { square: square().f };
  for (const origin of ["", "page.example", `${PAGE}/`, `${PAGE}/path`, "null"]) {
    assertThrows(
      () => createHandler({ models, origins: [PAGE, origin] }),
      Error,
      "wanted an origin, as",
    );
  }
  for (const origins of ["*", [1], {}]) {
    assertThrows(
      () => createHandler({ models, origins: origins as unknown as string[] }),
      TypeError,
      "'origins' passed to 'createHandler' must be a list of strings",
    );
  }
});
