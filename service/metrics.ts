/**
 * What `/metrics` tells and `/healthz` counts: the figures of every part under names of ours. Pure: figures in, figures
 * out; `main.ts` collects them, `http/metrics.ts` writes them.
 */
import type { RequestCounts } from "./control/tally.ts"
import type { RelayStatus } from "./emit/relay.ts"
import type { Metric } from "./http/metrics.ts"
import type { HubCounts } from "./hub/hub.ts"

/** The figures as the parts give them. */
export interface Figures {
  uptimeMs: number
  population: { instances: number; sessions: number }
  moments: { batches: number; moments: number; repeated: number; rejected: number; dropped: number }
  emitted: { events: number; refused: number; missed: number }
  hub: HubCounts
  readers: { sockets: number; streams: number }
  claims: number
  commands: { commands: number; repeated: number; accepted: number; rejected: number; unroutable: number }
  requests: RequestCounts
  isDegraded: boolean
  /** Absent without a relay. */
  relay: RelayStatus | undefined
}

type Rows = readonly [label: string, value: number][]

/** The figures as metrics. */
export function metricsOf(figures: Figures): Metric[] {
  const { moments, emitted, hub, readers, commands, requests, population, relay } = figures
  return [
    gauge("aep_uptime_seconds", "Seconds since the service started.", figures.uptimeMs / 1000),
    gauge("aep_log_degraded", "1 while events or state cannot be written.", figures.isDegraded ? 1 : 0),
    gauge("aep_instances", "Plugin instances whose lease lives.", population.instances),
    gauge("aep_sessions", "Sessions that these instances speak for.", population.sessions),
    counter("aep_batches_total", "Batches of moments taken.", moments.batches),
    ...counters("aep_moments_total", "Moments of plugins, by what became of them.", "result", [
      ["applied", moments.moments],
      ["repeated", moments.repeated],
      ["rejected", moments.rejected],
      ["dropped", moments.dropped],
    ]),
    ...counters("aep_events_total", "Events of our own, by what became of them.", "result", [
      ["logged", emitted.events],
      ["missed", emitted.missed],
      ["refused", emitted.refused],
    ]),
    counter(
      "aep_hub_published_total",
      "Events that came into the hub, from us and from peers.",
      hub.published,
    ),
    counter("aep_hub_repeated_total", "Events among them that were held already.", hub.repeated),
    counter("aep_hub_evicted_total", "Held events that were let go.", hub.evicted),
    counter("aep_hub_faults_total", "Faults of a reader's binding.", hub.faults),
    gauge("aep_hub_sessions", "Sessions of which events are held.", hub.sessions),
    gauge("aep_hub_events", "Events held.", hub.events),
    gauge("aep_hub_bytes", "Characters of the events held.", hub.bytes),
    gauge("aep_hub_subscriptions", "Live subscriptions.", hub.subscriptions),
    counter("aep_hub_dropped_total", "Debug and info events that slow readers lost.", hub.dropped),
    ...gauges("aep_readers", "Open connections of readers and peers, by binding.", "binding", [
      ["socket", readers.sockets],
      ["stream", readers.streams],
    ]),
    gauge("aep_claims", "Sessions that somebody connected here speaks for.", figures.claims),
    ...counters("aep_commands_total", "Commands for sessions of ours, by what became of them.", "result", [
      ["received", commands.commands],
      ["repeated", commands.repeated],
      ["accepted", commands.accepted],
      ["rejected", commands.rejected],
      ["unroutable", commands.unroutable],
    ]),
    ...counters("aep_requests_total", "Asks and questions, raised and by how they ended.", "what", [
      ["raised", requests.raised],
      ["answered", requests.answered],
      ["auto", requests.auto],
      ["dismissed", requests.dismissed],
      ["lapsed", requests.lapsed],
    ]),
    ...(relay === undefined ? [] : relayMetrics(relay)),
  ]
}

function relayMetrics(relay: RelayStatus): Metric[] {
  return [
    gauge("aep_relay_ready", "1 from the relay's hello to its loss.", relay.isReady ? 1 : 0),
    gauge("aep_relay_behind_bytes", "Bytes of logs that the relay has not confirmed.", relay.behindBytes),
    gauge("aep_relay_behind_logs", "Logs with such bytes.", relay.behindLogs),
    ...counters("aep_relay_events_total", "Events for the relay, by what became of them.", "result", [
      ["sent", relay.sent],
      ["confirmed", relay.confirmed],
      ["resent", relay.resent],
      ["claimed", relay.claimed],
      ["dropped", relay.dropped],
      ["skipped", relay.skipped],
    ]),
    counter("aep_relay_reconnects_total", "Attempts to connect after the first.", relay.reconnects),
    counter("aep_relay_errors_total", "Error frames and unreadable ones of the relay.", relay.errors),
    counter("aep_relay_cut_total", "Logs that held less than was written to them.", relay.cut),
  ]
}

function counter(name: string, help: string, value: number): Metric {
  return { name, help, type: "counter", value }
}

function gauge(name: string, help: string, value: number): Metric {
  return { name, help, type: "gauge", value }
}

function counters(name: string, help: string, label: string, rows: Rows): Metric[] {
  return rows.map(([row, value]) => ({ ...counter(name, help, value), labels: { [label]: row } }))
}

function gauges(name: string, help: string, label: string, rows: Rows): Metric[] {
  return rows.map(([row, value]) => ({ ...gauge(name, help, value), labels: { [label]: row } }))
}
