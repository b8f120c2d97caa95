/**
 * `GET /metrics` as Prometheus reads it (text exposition format 0.0.4): one help and type a name, its samples together,
 * and nothing that a label or a help text could break.
 */
import { afterAll, expect, test } from "bun:test"
import { type Metric, writeMetrics } from "../../service/http/metrics.ts"
import { AepHouse } from "./doors-aep-house.ts"

const metric = (members: Partial<Metric> = {}): Metric => ({
  name: "aep_events_total",
  help: "Events",
  type: "counter",
  value: 1,
  ...members,
})

test("samples of one name stand together under one help and type", () => {
  const text = writeMetrics([
    metric({ labels: { door: "events" } }),
    metric({ name: "aep_streams", help: "Open streams", type: "gauge", value: 2 }),
    metric({ labels: { door: "socket", kind: "x" }, value: 3 }),
  ])
  expect(text).toBe(
    [
      "# HELP aep_events_total Events",
      "# TYPE aep_events_total counter",
      'aep_events_total{door="events"} 1',
      'aep_events_total{door="socket",kind="x"} 3',
      "# HELP aep_streams Open streams",
      "# TYPE aep_streams gauge",
      "aep_streams 2",
      "",
    ].join("\n"),
  )
})

test.each([
  [{ labels: { a: 'q"q' } }, 'aep_events_total{a="q\\"q"} 1'],
  [{ labels: { a: "b\\b" } }, 'aep_events_total{a="b\\\\b"} 1'],
  [{ labels: { a: "n\nn" } }, 'aep_events_total{a="n\\nn"} 1'],
  [{ labels: { a: '\\"\n' } }, 'aep_events_total{a="\\\\\\"\\n"} 1'],
  [{ labels: {} }, "aep_events_total 1"],
  [{ value: 0 }, "aep_events_total 0"],
  [{ value: 0.25 }, "aep_events_total 0.25"],
  [{ value: 1e21 }, "aep_events_total 1e+21"],
  [{ value: Number.NaN }, "aep_events_total NaN"],
  [{ value: Number.POSITIVE_INFINITY }, "aep_events_total +Inf"],
  [{ value: Number.NEGATIVE_INFINITY }, "aep_events_total -Inf"],
] as [Partial<Metric>, string][])("%j is written %s", (members, line) => {
  expect(writeMetrics([metric(members)]).split("\n")[2]).toBe(line)
})

test("a help text stays on its line", () => {
  expect(writeMetrics([metric({ help: 'a\nb\\c "d"' })]).split("\n")[0]).toBe(
    '# HELP aep_events_total a\\nb\\\\c "d"',
  )
})

test("nothing counted is nothing written", () => {
  expect(writeMetrics([])).toBe("")
})

const house = new AepHouse({ metrics: [metric()] })
afterAll(() => house.close())

test("the door serves the text to whoever shows the token", async () => {
  const answer = await house.ask("/metrics")
  expect(answer.status).toBe(200)
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
  expect(answer.headers.get("cache-control")).toBe("no-store")
  expect(answer.text).toContain("\naep_events_total 1\n")
})
