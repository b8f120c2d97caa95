/** The peer of the bench: a bare Hono route that parses the same body and says the same of it, and does no more. */
import { Hono } from "hono"

const app = new Hono()
app.post("/opencode/moments", async (context) => {
  const { first, moments } = await context.req.json()
  return context.json({ next: first + moments.length, rejected: [] }, 202)
})

Bun.serve({ hostname: "127.0.0.1", port: Number(process.argv[2]), fetch: app.fetch })
process.stdout.write("listens\n")
