/**
 * Loaded before a measured server when its live memory is asked for: on SIGUSR2 it collects everything that is not held and prints
 * `live <bytes>`, outside memory of strings and buffers included. Adds nothing to the server's own work.
 */
import { heapStats } from "bun:jsc"

process.on("SIGUSR2", () => {
  Bun.gc(true)
  process.stdout.write(`live ${heapStats().heapSize}\n`)
})
