/**
 * `GET /metrics`: counters and gauges as Prometheus text (exposition format 0.0.4). What is counted is handed in; names
 * and labels are ours, never content.
 */

/** One figure; those of one name share help and type, and differ in their labels. */
export interface Metric {
  name: string
  help: string
  type: "counter" | "gauge"
  value: number
  labels?: Readonly<Record<string, string>>
}

/** Where the figures come from. */
export interface MetricsDoor {
  metrics: () => readonly Metric[]
}

/** Handles one request that showed the token. */
export function metricsDoor(door: MetricsDoor): Response {
  return new Response(writeMetrics(door.metrics()), {
    headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" },
  })
}

/** The text: a name's lines stand together, help and type once before them. */
export function writeMetrics(metrics: readonly Metric[]): string {
  const groups = Map.groupBy(metrics, ({ name }) => name)
  let text = ""
  for (const [name, [first, ...rest]] of groups) {
    if (first === undefined) continue
    text += `# HELP ${name} ${escapeHelp(first.help)}\n# TYPE ${name} ${first.type}\n`
    for (const metric of [first, ...rest]) text += `${name}${labelsOf(metric)} ${numberOf(metric.value)}\n`
  }
  return text
}

function labelsOf({ labels = {} }: Metric): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}

/** Infinity is spelled otherwise than by the language. */
function numberOf(value: number): string {
  return Number.isFinite(value) || Number.isNaN(value) ? String(value) : value > 0 ? "+Inf" : "-Inf"
}
