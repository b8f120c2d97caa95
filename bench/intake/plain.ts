/** The floor of the bench: bare `Bun.serve` that parses the same body and says the same of it. */
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  fetch: async (request) => {
    const { first, moments } = (await request.json()) as { first: number; moments: unknown[] }
    return Response.json({ next: first + moments.length, rejected: [] }, { status: 202 })
  },
})
process.stdout.write("listens\n")
