/**
 * opencode-aep 0.1.0: the drop-in plugin for OpenCode 1.x and Kilo.
 *
 * Copy this one file into a `plugin/` folder of the agent. It forwards what the agent does to the opencode-aep
 * service on this machine, and answers a prompt or stops a run when the service proves that you said so. It prints nothing
 * and never makes the agent wait, but for one case: where OpenCode 1.0 asks for a permission and somebody is connected who
 * can answer, it waits for them.
 *
 * Generated; do not edit. Sources, with all comments: plugin/src. Made by: bun plugin/build.ts
 * Licence: Apache-2.0
 */
// plugin/src/fields.ts
function isFields(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function asFields(value) {
  return isFields(value) ? value : {};
}
function asText(value) {
  return typeof value === "string" ? value : undefined;
}
function pick(source, keys) {
  const kept = {};
  for (const key of keys) {
    const value = source[key];
    if (value !== undefined)
      kept[key] = value;
  }
  return kept;
}

// plugin/src/config.ts
function readExplicit(options, host) {
  const given = asFields(options);
  const { env } = host;
  const url = filled(given.url) ?? filled(env.AEP_OPENCODE_URL);
  const key = filled(given.key) ?? filled(env.AEP_OPENCODE_KEY);
  const hold = filled(given.hold) ?? filled(env.AEP_OPENCODE_HOLD);
  const home = filled(given.home) ?? filled(env.AEP_HOME) ?? defaultHome(env);
  return {
    off: isOn(given.off ?? env.AEP_OPENCODE_OFF),
    stream: isOn(given.stream ?? env.AEP_OPENCODE_STREAM),
    ...hold === "event" ? { noHold: true } : {},
    ...url === undefined ? {} : { url },
    ...key === undefined ? {} : { key },
    ...home === undefined ? {} : { home }
  };
}
function resolveTarget(explicit, file) {
  const url = explicit.url ?? file?.url;
  const key = explicit.key ?? file?.key;
  if (url === undefined || key === undefined || !isAcceptable(url))
    return;
  const socket = url === file?.url ? file.socket : undefined;
  return { url: url.replace(/\/+$/, ""), key, ...socket === undefined ? {} : { socket } };
}
function readMembers(parsed) {
  const members = asFields(parsed);
  const url = filled(members.url);
  const socket = filled(members.socket);
  const key = filled(members.key);
  return {
    ...url === undefined ? {} : { url },
    ...socket === undefined ? {} : { socket },
    ...key === undefined ? {} : { key }
  };
}
function isAcceptable(url) {
  if (!URL.canParse(url))
    return false;
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:")
    return true;
  return protocol === "http:" && isLoopback(hostname);
}
function isLoopback(hostname) {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}
function defaultHome(env) {
  const windows = env.OS === "Windows_NT" ? filled(env.USERPROFILE) : undefined;
  const home = windows ?? filled(env.HOME) ?? filled(env.USERPROFILE);
  return home === undefined ? undefined : `${home}/.aep`;
}
function filled(value) {
  const text = asText(value);
  return text === "" ? undefined : text;
}
function isOn(value) {
  return value === true || value === "1";
}

// plugin/src/memory.ts
var MOST = 2000;
function createMemory(stream) {
  return { stream, status: new Map, prompts: new Map, running: new Map };
}
function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MOST)
    return;
  const oldest = map.keys().next();
  if (oldest.done !== true)
    map.delete(oldest.value);
}

// plugin/src/asks.ts
var MOST_ASKS = 2000;
var MOST_TOLD = 4 * 1024 * 1024;
var DEEPEST = 16;
var NOTHING = {};
var DISMISSED = "dismissed";
function createAsks() {
  const open = new Map;
  const parents = new Map;
  let kept = 0;
  const close = (ask) => {
    if (open.get(ask.id) !== ask)
      return;
    open.delete(ask.id);
    kept -= ask.told?.length ?? 0;
  };
  const annul = (ask) => {
    close(ask);
    ask.onVoid?.();
  };
  const isBelow = (session, above) => {
    let at = session;
    for (let depth = 0;at !== undefined && at !== "" && depth < DEEPEST; depth += 1) {
      if (at === above)
        return true;
      at = parents.get(at);
    }
    return false;
  };
  const annulBelow = (session) => {
    if (typeof session !== "string")
      return NOTHING;
    for (const ask of [...open.values()])
      if (isBelow(ask.session, session))
        annul(ask);
    return NOTHING;
  };
  const annulCall = ({ type, callID, sessionID, state }) => {
    const { status } = asFields(state);
    if (type !== "tool" || status !== "completed" && status !== "error")
      return NOTHING;
    for (const ask of [...open.values()]) {
      if (ask.call !== undefined && ask.call === callID && ask.session === sessionID)
        annul(ask);
    }
    return NOTHING;
  };
  const begin = (properties, family) => {
    const { id, sessionID, callID, tool, questions } = properties;
    const [askId, session] = [asText(id), asText(sessionID)];
    if (askId === undefined || session === undefined)
      return;
    if (open.has(askId) || open.size >= MOST_ASKS)
      return;
    const ask = {
      id: askId,
      session,
      call: asText(callID) ?? asText(asFields(tool).callID),
      family,
      labels: family === "question" ? labelsIn(questions) : []
    };
    open.set(askId, ask);
    return ask;
  };
  const settle = (id, says) => {
    const ask = open.get(asText(id) ?? "");
    if (ask === undefined)
      return NOTHING;
    close(ask);
    const { delivering } = ask;
    return delivering?.says === says ? { by: delivering.by } : NOTHING;
  };
  const placing = ({ info }) => {
    const { id, parentID } = asFields(info);
    const session = asText(id);
    if (session !== undefined)
      remember(parents, session, asText(parentID) ?? "");
    return NOTHING;
  };
  const opening = (family) => (properties) => {
    const opened = begin(properties, family);
    return opened === undefined ? NOTHING : { opened };
  };
  const replied = ({ requestID, permissionID, reply, response }) => settle(requestID ?? permissionID, `${reply ?? response}`);
  const answered = ({ requestID, answers }) => settle(requestID, saysAnswers(answers));
  const dismissed = ({ requestID }) => settle(requestID, DISMISSED);
  const beginnings = new Map([
    ["permission.asked", opening("reply")],
    ["permission.v2.asked", opening("reply")],
    ["permission.updated", opening("legacy")],
    ["question.asked", opening("question")],
    ["question.v2.asked", opening("question")],
    ["session.created", placing],
    ["session.updated", placing]
  ]);
  const ends = new Map([
    ["permission.replied", replied],
    ["permission.v2.replied", replied],
    ["question.replied", answered],
    ["question.v2.replied", answered],
    ["question.rejected", dismissed],
    ["question.v2.rejected", dismissed],
    ["session.idle", ({ sessionID }) => annulBelow(sessionID)],
    ["session.deleted", ({ sessionID, info }) => annulBelow(asFields(info).id ?? sessionID)],
    ["session.error", ({ sessionID, error }) => isAbort(error) ? annulBelow(sessionID) : NOTHING],
    ["message.part.updated", ({ part }) => annulCall(asFields(part))]
  ]);
  return {
    see(event) {
      const read = beginnings.get(event.type) ?? (open.size === 0 ? undefined : ends.get(event.type));
      return read?.(asFields(event.properties)) ?? NOTHING;
    },
    hook: (permission) => begin(permission, "hook"),
    find(session, id) {
      const ask = open.get(id);
      return ask?.session === session ? ask : undefined;
    },
    close,
    keep(ask, told) {
      if (open.get(ask.id) !== ask || kept + told.length > MOST_TOLD)
        return;
      kept += told.length - (ask.told?.length ?? 0);
      ask.told = told;
    },
    isPlaced: (session) => parents.has(session),
    voidAll() {
      for (const ask of [...open.values()])
        annul(ask);
    },
    get all() {
      return open.values();
    }
  };
}
function isAbort(error) {
  return asFields(error).name === "MessageAbortedError";
}
function saysAnswers(answers) {
  return `answers ${JSON.stringify(answers)}`;
}
function labelsIn(questions) {
  if (!Array.isArray(questions))
    return [];
  return questions.map((question) => {
    const { options } = asFields(question);
    return Array.isArray(options) ? options.map((option) => asText(asFields(option).label) ?? "") : [];
  });
}

// plugin/src/answering.ts
function createAnswering({ asks, client, holdOf }) {
  return async (decision) => {
    const ask = asks.find(decision.session, decision.ask);
    if (ask === undefined)
      return "stale";
    const { family } = ask;
    switch (decision.kind) {
      case "pending":
        return holdOf(ask)?.extend(decision.ms) === true ? "done" : "stale";
      case "lapse":
        return holdOf(ask)?.release() === true ? "done" : "stale";
      case "hook":
        return holdOf(ask)?.decide(decision.status) === true ? "done" : "stale";
      case "reply":
        if (family !== "reply" && family !== "legacy")
          return "stale";
        return deliver(ask, decision, decision.reply, () => reply(client, ask, decision));
      case "answers": {
        if (family !== "question")
          return "stale";
        const answers = inWords(decision.answers, ask.labels);
        if (answers === undefined)
          return "failed";
        const post = () => client.post("/question/{requestID}/reply", { requestID: ask.id }, { answers });
        return deliver(ask, decision, saysAnswers(answers), post);
      }
      case "dismiss":
        if (family !== "question")
          return "stale";
        return deliver(ask, decision, DISMISSED, () => client.post("/question/{requestID}/reject", { requestID: ask.id }, {}));
      default:
        return "failed";
    }
  };
}
async function deliver(ask, { by }, says, tell) {
  const delivering = { by, says };
  ask.delivering = delivering;
  const called = await tell();
  if (called === "done" || called === "slow")
    return "done";
  if (ask.delivering === delivering)
    delete ask.delivering;
  return called;
}
function reply(client, ask, { reply, message }) {
  const { id, session, family } = ask;
  if (message === undefined || family === "legacy")
    return client.permission(session, id, reply);
  return client.post("/permission/{requestID}/reply", { requestID: id }, { reply, message });
}
function inWords(answers, labels) {
  if (answers.length !== labels.length)
    return;
  const worded = [];
  for (const [nth, parts] of answers.entries()) {
    const words = parts.map((part) => typeof part === "string" ? part : labels[nth]?.[part - 1]);
    if (!words.every((word) => word !== undefined))
      return;
    worded.push(words);
  }
  return worded;
}

// plugin/src/clip.ts
var MARKER_LENGTH = 48;
var DEEPEST2 = 64;
function clipText(text, max) {
  if (text.length <= max)
    return text;
  let keep = Math.max(0, max - MARKER_LENGTH);
  const last = text.charCodeAt(keep - 1);
  if (last >= 55296 && last <= 56319)
    keep -= 1;
  return `${text.slice(0, keep)}...[opencode-aep: ${text.length - keep} characters cut]`;
}
function clipStrings(value, max, path, cuts, depth = 0) {
  if (typeof value === "string") {
    if (value.length <= max)
      return value;
    cuts.push(path);
    return clipText(value, max);
  }
  if (typeof value !== "object" || value === null || depth > DEEPEST2)
    return value;
  if (ArrayBuffer.isView(value)) {
    if (value.byteLength * 4 <= max)
      return value;
    cuts.push(path);
    return `[opencode-aep: ${value.byteLength} bytes cut]`;
  }
  if (Array.isArray(value))
    return clipArray(value, max, path, cuts, depth);
  return isFields(value) ? clipFields(value, max, path, cuts, depth) : value;
}
function clipArray(items, max, path, cuts, depth) {
  let copy;
  for (let index = 0;index < items.length; index += 1) {
    const item = items[index];
    const clipped = clipStrings(item, max, `${path}.${index}`, cuts, depth + 1);
    if (clipped === item)
      continue;
    copy ??= items.slice();
    copy[index] = clipped;
  }
  return copy ?? items;
}
function clipFields(fields, max, path, cuts, depth) {
  let copy;
  for (const key of Object.keys(fields)) {
    const item = fields[key];
    const clipped = clipStrings(item, max, path === "" ? key : `${path}.${key}`, cuts, depth + 1);
    if (clipped === item)
      continue;
    copy ??= { ...fields };
    copy[key] = clipped;
  }
  return copy ?? fields;
}

// plugin/src/weight.ts
var SHORT = 256;
var MOST_NODES = 20000;
var DEEPEST3 = 64;
var SPARSE = { nodes: 400, text: 96, key: 128 };
function weigh(value) {
  const weight = { units: 0, long: [] };
  const left = visit(value, weight, MOST_NODES, 0);
  if (left <= 0)
    weight.units = Number.POSITIVE_INFINITY;
  return weight;
}
function visit(value, weight, nodes, depth) {
  if (typeof value === "string") {
    weight.units += value.length + 3;
    if (value.length > SHORT)
      weight.long.push(value.length);
    return nodes - 1;
  }
  if (typeof value !== "object" || value === null) {
    weight.units += 8;
    return nodes - 1;
  }
  if (depth > DEEPEST3)
    return 0;
  if (ArrayBuffer.isView(value)) {
    const units = value.byteLength * 4;
    weight.units += units;
    if (units > SHORT)
      weight.long.push(units);
    return nodes - 1;
  }
  let left = nodes - 1;
  weight.units += 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (left <= 0)
        return left;
      left = visit(item, weight, left, depth + 1);
    }
    return left;
  }
  if (!isFields(value))
    return left;
  for (const key of Object.keys(value)) {
    if (left <= 0)
      return left;
    weight.units += key.length + 4;
    left = visit(value[key], weight, left, depth + 1);
  }
  return left;
}
function longestThatFits(weight, limit) {
  const lengths = [...weight.long].sort((a, b) => a - b);
  const rest = weight.units - lengths.reduce((sum, length) => sum + length, 0);
  let room = limit - rest;
  for (let index = 0;index < lengths.length; index += 1) {
    const share = Math.floor(room / (lengths.length - index));
    const length = lengths[index] ?? 0;
    if (length > share)
      return share >= SHORT + MARKER_LENGTH ? share : undefined;
    room -= length;
  }
  return room >= 0 ? Number.POSITIVE_INFINITY : undefined;
}
function sparseCopy(value, cuts) {
  const budget = { nodes: SPARSE.nodes };
  const noteCut = (path) => {
    if (cuts.length < 32 && path.length <= SPARSE.key * 2)
      cuts.push(path);
  };
  const copy = (item, path, depth) => {
    budget.nodes -= 1;
    if (typeof item === "string") {
      if (item.length > SPARSE.text)
        noteCut(path);
      return clipText(item, SPARSE.text);
    }
    if (typeof item !== "object" || item === null)
      return item;
    if (budget.nodes <= 0 || depth > 8 || ArrayBuffer.isView(item)) {
      noteCut(path);
      return;
    }
    const into = {};
    const nested = [];
    for (const key in item) {
      if (budget.nodes <= 0 || key.length > SPARSE.key) {
        noteCut(path);
        break;
      }
      const member = Reflect.get(item, key);
      if (typeof member === "object" && member !== null)
        nested.push(key);
      else
        into[key] = copy(member, join(path, key), depth + 1);
      if (nested.length > SPARSE.nodes)
        break;
    }
    for (const key of nested)
      into[key] = copy(Reflect.get(item, key), join(path, key), depth + 1);
    return Array.isArray(item) ? Object.values(into) : into;
  };
  return copy(value, "", 0);
}
function join(path, key) {
  return path === "" ? key : `${path}.${key}`;
}

// plugin/src/bound.ts
var MOMENT_BYTES = 64 * 1024;
var ENVELOPE = 256;
var ATTEMPTS = 3;
var scratch = new Uint8Array(MOMENT_BYTES);
var encoder = new TextEncoder;
function writeMoment(moment, n, at) {
  const { cut: earlier, ...body } = moment;
  let limit = MOMENT_BYTES - ENVELOPE;
  const weight = weigh(body);
  for (let attempt = 0;attempt < ATTEMPTS; attempt += 1) {
    const longest = longestThatFits(weight, limit);
    if (longest === undefined)
      break;
    const cuts = earlier?.slice() ?? [];
    const lighter = longest === Number.POSITIVE_INFINITY ? body : clipStrings(body, longest, "", cuts);
    const written = write(lighter, n, at, cuts);
    if (written.bytes <= MOMENT_BYTES)
      return written;
    limit = Math.floor(limit * MOMENT_BYTES * 0.9 / written.bytes);
  }
  const cuts = earlier?.slice() ?? [];
  return write(sparseCopy(body, cuts), n, at, cuts);
}
function write(body, n, at, cuts) {
  const stamp = cuts.length === 0 ? { n, at } : { n, at, cut: [...new Set(cuts)] };
  const text = JSON.stringify(Object.assign(stamp, body));
  return { text, bytes: countBytes(text) };
}
function countBytes(text) {
  if (text.length <= MOMENT_BYTES) {
    const { read, written } = encoder.encodeInto(text, scratch);
    if (read === text.length)
      return written;
  }
  return encoder.encode(text).byteLength;
}

// plugin/src/timer.ts
function after(delayMs, run, onFault) {
  const timer = setTimeout(() => {
    try {
      run();
    } catch {
      onFault();
    }
  }, delayMs);
  unref(timer);
  return () => clearTimeout(timer);
}
function unref(timer) {
  if (typeof timer !== "object" || timer === null || !("unref" in timer))
    return;
  if (typeof timer.unref === "function")
    timer.unref();
}

// plugin/src/client.ts
function createClient(client, directory, callMs) {
  const query = directory === "" ? {} : { query: { directory } };
  const call = async (owner, member, argument) => {
    const method = isFields(owner) ? owner[member] : undefined;
    if (typeof method !== "function")
      throw new TypeError(`the client has no ${member}`);
    return bounded(method.call(owner, { ...argument, ...query }), callMs);
  };
  const told = async (owner, member, argument) => {
    try {
      const answer = await call(owner, member, argument);
      if (answer === SLOW)
        return "slow";
      const { error, response } = asFields(answer);
      if (asFields(response).status === 404)
        return "gone";
      return error === undefined ? "done" : "failed";
    } catch {
      return "failed";
    }
  };
  return {
    abort: (session) => told(asFields(client()).session, "abort", { path: { id: session } }),
    permission: (id, permissionID, response) => told(client(), "postSessionIdPermissionsPermissionId", {
      path: { id, permissionID },
      body: { response }
    }),
    post: (url, path, body) => told(asFields(client())._client, "post", {
      url,
      path,
      body,
      headers: { "content-type": "application/json" }
    }),
    async session(id) {
      try {
        const answer = await call(asFields(client()).session, "get", { path: { id } });
        const { data } = asFields(answer);
        return isFields(data) ? data : undefined;
      } catch {
        return;
      }
    }
  };
}
var SLOW = Symbol("slow");
function bounded(work, ms) {
  return new Promise((resolve, reject) => {
    const cancel = after(ms, () => resolve(SLOW), () => {
      return;
    });
    Promise.resolve(work).then(resolve, reject).finally(cancel);
  });
}

// plugin/src/decision.ts
function readDecision(text) {
  const fields = parse(text);
  const session = asText(fields.session);
  if (session === undefined)
    return;
  if (fields.kind === "cancel") {
    const run = asText(fields.run);
    return run === undefined ? undefined : { kind: "cancel", session, run };
  }
  const ask = asText(fields.ask);
  return ask === undefined ? undefined : readAbout(fields, { session, ask });
}
function readAbout(fields, about) {
  const { kind, ms } = fields;
  if (kind === "lapse")
    return { kind, ...about };
  if (kind === "pending")
    return typeof ms === "number" && ms >= 0 ? { kind, ...about, ms } : undefined;
  const by = readTag(fields.by);
  if (by === undefined)
    return;
  switch (kind) {
    case "reply": {
      const { reply } = fields;
      if (reply !== "once" && reply !== "always" && reply !== "reject")
        return;
      const message = asText(fields.message);
      return { kind, ...about, reply, ...message === undefined ? {} : { message }, by };
    }
    case "answers": {
      const answers = readAnswers(fields.answers);
      return answers === undefined ? undefined : { kind, ...about, answers, by };
    }
    case "dismiss":
      return { kind, ...about, by };
    case "hook": {
      const { status } = fields;
      return status === "allow" || status === "deny" ? { kind, ...about, status, by } : undefined;
    }
    default:
      return;
  }
}
function readAnswers(value) {
  if (!Array.isArray(value))
    return;
  const answers = [];
  for (const parts of value) {
    if (!Array.isArray(parts))
      return;
    if (!parts.every((part) => typeof part === "string" || Number.isInteger(part)))
      return;
    answers.push(parts);
  }
  return answers;
}
function readTag(value) {
  const { command, mark } = asFields(value);
  return typeof command === "string" && typeof mark === "string" ? { command, mark } : undefined;
}
function parse(text) {
  try {
    return asFields(JSON.parse(text));
  } catch {
    return {};
  }
}

// plugin/src/deliver.ts
function createDelivery(parts) {
  const { client, promptOf, answer, report, drops } = parts;
  const known = new Map;
  const carryOut = async (decision) => {
    if (decision.kind !== "cancel")
      return answer(decision);
    if (promptOf(decision.session) !== decision.run)
      return "stale";
    return await client.abort(decision.session) === "done" ? "done" : "failed";
  };
  const take = async (request, decision) => {
    let status = "failed";
    try {
      status = await carryOut(decision);
    } catch {
      drops.count("fault");
    }
    const outcome = { request, status, decision };
    remember(known, request, outcome);
    report(outcome);
  };
  return ({ request, decision }) => {
    const before = known.get(request);
    if (before === "under way")
      return;
    if (before !== undefined) {
      report(before);
      return;
    }
    const read = readDecision(decision);
    if (read === undefined) {
      drops.count("unproved");
      return;
    }
    remember(known, request, "under way");
    take(request, read).catch(() => drops.count("fault"));
  };
}

// plugin/src/breaker.ts
var PATIENCE = 2;
function createBreaker(firstMs, mostMs, random) {
  let failures = 0;
  let connected = false;
  let hopeless = false;
  return {
    get failures() {
      return failures;
    },
    get connected() {
      return connected;
    },
    get refusing() {
      return !connected && (hopeless || failures >= PATIENCE);
    },
    succeed() {
      failures = 0;
      connected = true;
      hopeless = false;
    },
    fail(noAddress) {
      failures += 1;
      hopeless = noAddress;
      const delay = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 20));
      return delay * (1 - random() / 4);
    }
  };
}

// plugin/src/downlink.ts
function createDownlink(parts) {
  const { link, drops, pace, instance, deliver, onUnknown, now, random } = parts;
  const breaker = createBreaker(pace.pollBackoffMs, pace.backoffMostMs, random);
  let running = false;
  let closed = false;
  let wake;
  let failed = false;
  let answerable = false;
  const fault = () => drops.count("fault");
  const rest = (ms) => new Promise((resolve) => {
    const cancel = after(ms, resolve, fault);
    wake = () => {
      cancel();
      resolve();
    };
  });
  async function run() {
    while (!closed) {
      const began = now();
      let polled = await link.poll(instance, answerable);
      if (polled.kind === "unauthorized" && !closed) {
        link.forget();
        polled = await link.poll(instance, answerable);
      }
      if (closed)
        return;
      if (polled.kind !== "answered") {
        failed = true;
        answerable = false;
        if (polled.kind === "unknown")
          onUnknown();
        else
          link.forget();
        await rest(breaker.fail(polled.kind === "absent"));
        continue;
      }
      failed = false;
      answerable = polled.answerable;
      breaker.succeed();
      for (let count = 0;count < polled.unproved; count += 1)
        drops.count("unproved");
      for (const message of polled.messages)
        deliver(message);
      if (polled.messages.length === 0)
        await rest(Math.max(0, pace.pollGapMs - (now() - began)));
    }
  }
  return {
    get answerable() {
      return answerable;
    },
    start() {
      if (failed)
        wake?.();
      if (running || closed)
        return;
      running = true;
      run().catch(fault);
    },
    close() {
      closed = true;
      answerable = false;
      link.hangUp();
      wake?.();
    }
  };
}

// plugin/src/drops.ts
var MOST_KINDS = 100;
var MOST_CHARACTERS = 128;
function createDrops() {
  const counts = new Map;
  return {
    count(kind) {
      const name = kind.slice(0, MOST_CHARACTERS);
      const key = counts.has(name) || counts.size < MOST_KINDS ? name : "other";
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    snapshot() {
      return counts.size === 0 ? undefined : Object.fromEntries(counts);
    },
    acknowledge(told) {
      for (const [kind, number] of Object.entries(told ?? {})) {
        const left = (counts.get(kind) ?? 0) - number;
        if (left > 0)
          counts.set(kind, left);
        else
          counts.delete(kind);
      }
    }
  };
}

// plugin/src/hold.ts
var MOST_MS = 24 * 60 * 60 * 1000;
var STOPPED = "The session was stopped while this permission was asked for.";
function createHold({ output, holdMs, graceMs, onOver, onFault }) {
  const { promise: over, resolve, reject } = Promise.withResolvers();
  over.catch(() => {
    return;
  });
  let isOver = false;
  const finish = (settle) => {
    if (isOver)
      return false;
    isOver = true;
    cancel();
    onOver();
    settle();
    return true;
  };
  const release = () => finish(resolve);
  let cancel = after(holdMs, release, onFault);
  return {
    over,
    release,
    decide(status) {
      return isFields(output) && finish(() => settleOn(output, status, resolve));
    },
    extend(ms) {
      if (isOver)
        return false;
      cancel();
      cancel = after(Math.min(Math.max(0, ms), MOST_MS) + graceMs, release, onFault);
      return true;
    },
    annul() {
      finish(() => reject(new Error(STOPPED)));
    }
  };
}
function settleOn(output, status, resolve) {
  try {
    output.status = status;
  } finally {
    resolve();
  }
}

// plugin/src/holding.ts
function createHolding({ asks, tell, drops, pace }) {
  const holds = new Map;
  return {
    begin(permission, output) {
      const ask = asks.hook(permission);
      if (ask === undefined)
        return;
      const held = createHold({
        output,
        holdMs: pace.holdMs,
        graceMs: pace.holdGraceMs,
        onOver: () => {
          holds.delete(ask);
          asks.close(ask);
        },
        onFault: () => drops.count("fault")
      });
      holds.set(ask, held);
      ask.onVoid = held.annul;
      try {
        asks.keep(ask, tell(permission));
      } catch {
        drops.count("permission.ask");
        held.release();
      }
      return held.over;
    },
    of: (ask) => holds.get(ask)
  };
}

// plugin/src/host.ts
function readHost() {
  const env = globalThis.process?.env;
  const argv = globalThis.process?.argv;
  return {
    env: asFields(env),
    argv: Array.isArray(argv) ? argv.filter((value) => typeof value === "string") : []
  };
}
function directoryOf(context) {
  const directory = isFields(context) ? context.directory : undefined;
  return typeof directory === "string" ? directory : "";
}

// plugin/src/version.ts
var VERSION = "0.1.0";

// plugin/src/instance.ts
var MOST_PATH = 4096;
var MOST_VERSION = 128;
function createInstance(context, host) {
  const kilo = host.env.KILO === "1";
  const worktree = asText(asFields(context).worktree)?.slice(0, MOST_PATH);
  const version = kilo ? asText(host.env.KILOCODE_VERSION)?.slice(0, MOST_VERSION) : undefined;
  return {
    id: crypto.randomUUID(),
    agent: kilo ? "kilocode" : "opencode",
    directory: directoryOf(context).slice(0, MOST_PATH),
    ...worktree === undefined ? {} : { worktree },
    ...version === undefined ? {} : { version },
    mode: modeOf(host.argv),
    plugin: VERSION,
    ...isFields(asFields(context).client) ? { answers: true } : {}
  };
}
function modeOf(argv) {
  if (argv[2] === "run")
    return "run";
  if (argv[2] === "serve")
    return "serve";
  return argv[1]?.endsWith("/tui/worker.js") === true ? "tui" : "unknown";
}
function versionIn(event) {
  const created = asFields(event);
  if (created.type !== "session.created")
    return;
  return asText(asFields(asFields(created.properties).info).version)?.slice(0, MOST_VERSION);
}

// plugin/src/kin.ts
function createKin({ client, isPlaced, tell, drops }) {
  const asked = new Map;
  return (session) => {
    if (isPlaced(session) || asked.has(session))
      return;
    remember(asked, session, true);
    const look = async () => {
      const info = await client.session(session);
      if (info?.id === session && !isPlaced(session))
        tell({ sessionID: session, info });
    };
    look().catch(() => drops.count("fault"));
  };
}

// plugin/src/credential.ts
var encoder2 = new TextEncoder;
var HMAC = { name: "HMAC", hash: "SHA-256" };
async function doorCredential(key) {
  return [...await derive(key, "door/1")].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
async function proofKey(key) {
  return crypto.subtle.importKey("raw", await derive(key, "proof/1"), HMAC, false, ["verify"]);
}
async function isProven(key, proof, parts) {
  const bytes = bytesOf(proof);
  if (bytes === undefined)
    return false;
  return crypto.subtle.verify("HMAC", key, bytes, encoder2.encode(parts.join("\x00")));
}
async function derive(key, purpose) {
  const secret = await crypto.subtle.importKey("raw", encoder2.encode(key), HMAC, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", secret, encoder2.encode(purpose)));
}
function bytesOf(hex) {
  if (!/^[0-9a-f]{64}$/.test(hex))
    return;
  const bytes = new Uint8Array(32);
  for (let at = 0;at < bytes.length; at += 1)
    bytes[at] = Number(`0x${hex.slice(at * 2, at * 2 + 2)}`);
  return bytes;
}

// plugin/src/plugin-file.ts
var MOST_CHARACTERS2 = 64 * 1024;
async function readPluginFile(home, timeoutMs) {
  try {
    const answer = await fetch(fileUrl(`${home}/plugin.json`), { signal: AbortSignal.timeout(timeoutMs) });
    const text = await answer.text();
    if (text.length > MOST_CHARACTERS2)
      return;
    return readMembers(JSON.parse(text));
  } catch {
    return;
  }
}
function fileUrl(path) {
  const parts = path.replaceAll("\\", "/").split("/");
  const drive = /^[A-Za-z]:$/.test(parts[0] ?? "") ? `/${parts.shift()}/` : "";
  return `file://${drive}${parts.map(encodeURIComponent).join("/")}`;
}

// plugin/src/answer.ts
var MOST_BYTES = 256 * 1024;
async function readText(answer) {
  const reader = answer.body?.getReader();
  if (reader === undefined)
    return "";
  const decoder = new TextDecoder;
  let text = "";
  let bytes = 0;
  for (;; ) {
    const { done, value } = await reader.read();
    if (done)
      return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > MOST_BYTES) {
      await reader.cancel();
      throw new RangeError("answer above its bound");
    }
    text += decoder.decode(value, { stream: true });
  }
}

// plugin/src/poll.ts
var MOST_MESSAGES = 1000;
async function pollDown(target, credential, { instance, nonce, answerable, signal }) {
  const query = `nonce=${nonce}&answerable=${answerable}`;
  try {
    const answer = await fetch(`${target.url}/opencode/instances/${instance}/down?${query}`, {
      headers: { authorization: `Bearer ${credential}` },
      redirect: "error",
      signal,
      ...target.socket === undefined ? {} : { unix: target.socket }
    });
    if (answer.ok)
      return read(JSON.parse(await readText(answer)));
    await answer.body?.cancel();
    if (answer.status === 404)
      return { kind: "unknown" };
    return { kind: answer.status === 401 ? "unauthorized" : "failed" };
  } catch {
    return { kind: "failed" };
  }
}
function read(parsed) {
  const { messages, answerable } = asFields(parsed);
  if (!Array.isArray(messages) || messages.length > MOST_MESSAGES)
    return { kind: "failed" };
  const sound = [];
  for (const message of messages) {
    const fields = asFields(message);
    const request = asText(fields.request);
    const decision = asText(fields.decision);
    const proof = asText(fields.proof);
    if (request === undefined || decision === undefined || proof === undefined)
      continue;
    if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(request))
      sound.push({ request, decision, proof });
  }
  return { kind: "answered", messages: sound, answerable: answerable === true };
}

// plugin/src/post.ts
async function postMoments(target, credential, body, signal) {
  try {
    const answer = await fetch(`${target.url}/opencode/moments`, {
      method: "POST",
      headers: { authorization: `Bearer ${credential}`, "content-type": "application/json" },
      body,
      redirect: "error",
      signal,
      ...target.socket === undefined ? {} : { unix: target.socket }
    });
    return await judge(answer);
  } catch {
    return { kind: "failed" };
  }
}
async function judge(answer) {
  if (answer.ok) {
    const parsed = JSON.parse(await readText(answer));
    const next = isFields(parsed) ? parsed.next : undefined;
    return typeof next === "number" && Number.isSafeInteger(next) ? { kind: "accepted", next } : { kind: "failed" };
  }
  await answer.body?.cancel();
  if (answer.status === 400 || answer.status === 413)
    return { kind: "refused" };
  return answer.status === 401 ? { kind: "unauthorized" } : { kind: "failed" };
}

// plugin/src/link.ts
function createLink(explicit, requestMs, pollMs) {
  let way;
  let abandoned = false;
  let hungUp = false;
  let sending;
  let polling;
  const find = async () => {
    const file = explicit.home === undefined ? undefined : await readPluginFile(explicit.home, requestMs);
    const target = resolveTarget(explicit, file);
    if (target === undefined)
      return;
    return { target, credential: await doorCredential(target.key), proof: await proofKey(target.key) };
  };
  const known = async () => {
    try {
      way ??= await find();
      return way;
    } catch {
      return;
    }
  };
  return {
    async send(body) {
      const found = await known();
      if (found === undefined)
        return { kind: "absent" };
      if (abandoned)
        return { kind: "failed" };
      sending = bounded2(requestMs);
      return postMoments(found.target, found.credential, body, sending.signal);
    },
    async poll(instance, answerable) {
      const found = await known();
      if (found === undefined)
        return { kind: "absent" };
      if (hungUp)
        return { kind: "failed" };
      polling = bounded2(pollMs);
      const nonce = crypto.randomUUID();
      const poll = { instance, nonce, answerable, signal: polling.signal };
      const polled = await pollDown(found.target, found.credential, poll);
      if (polled.kind !== "answered")
        return polled;
      const messages = await prove(polled.messages, found.proof, nonce, instance);
      return { ...polled, messages, unproved: polled.messages.length - messages.length };
    },
    forget() {
      way = undefined;
    },
    hangUp() {
      hungUp = true;
      polling?.abort();
    },
    abandon() {
      abandoned = true;
      hungUp = true;
      sending?.abort();
      polling?.abort();
    }
  };
}
async function prove(messages, key, nonce, instance) {
  const proven = [];
  for (const message of messages) {
    const { request, decision, proof } = message;
    if (await isProven(key, proof, [nonce, instance, request, decision]))
      proven.push(message);
  }
  return proven;
}
function bounded2(ms) {
  const controller = new AbortController;
  AbortSignal.timeout(ms).addEventListener("abort", () => controller.abort(), { once: true });
  return controller;
}

// plugin/src/keep.ts
var METADATA_STRING = 4096;
var ERROR_STRING = 8192;
var PROPERTIES = "event.properties";
var SESSION = ["id", "version", "parentID", "directory", "title", "time", "projectID"];
var MESSAGE = [
  ...["id", "role", "sessionID", "parentID", "mode", "agent", "cost", "tokens"],
  ...["modelID", "providerID", "model", "time", "finish"]
];
var whole = (properties) => properties;
var session = (properties) => ({
  ...pick(properties, ["sessionID"]),
  info: pick(asFields(properties.info), SESSION)
});
var status = (properties, memory) => {
  const id = asText(properties.sessionID) ?? "";
  const now = asFields(properties.status);
  const told = now.type === "retry" ? `retry ${now.attempt}` : `${now.type}`;
  if (memory.status.get(id) === told)
    return;
  remember(memory.status, id, told);
  return properties;
};
var failure = (properties, _memory, cuts) => ({
  ...pick(properties, ["sessionID"]),
  error: trimError(properties.error, `${PROPERTIES}.error`, cuts)
});
var message = (properties, _memory, cuts) => {
  const info = asFields(properties.info);
  const kept = pick(info, MESSAGE);
  if (info.error !== undefined)
    kept.error = trimError(info.error, `${PROPERTIES}.info.error`, cuts);
  if (info.role === "user") {
    if (info.summary !== undefined)
      kept.summarised = true;
  } else if (info.summary === true)
    kept.summary = true;
  return { ...pick(properties, ["sessionID"]), info: kept };
};
var ask = (properties, _memory, cuts) => boundMetadata(properties, PROPERTIES, cuts);
function boundMetadata(request, path, cuts) {
  if (request.metadata === undefined)
    return request;
  const metadata = clipStrings(request.metadata, METADATA_STRING, `${path}.metadata`, cuts);
  return metadata === request.metadata ? request : { ...request, metadata };
}
function trimError(error, path, cuts) {
  const { name, data } = asFields(error);
  const kept = pick(asFields(data), ["message", "statusCode", "isRetryable"]);
  if (typeof kept.message === "string" && kept.message.length > ERROR_STRING) {
    kept.message = clipText(kept.message, ERROR_STRING);
    cuts.push(`${path}.data.message`);
  }
  return { ...name === undefined ? {} : { name }, data: kept };
}

// plugin/src/keep-part.ts
var IDS = ["type", "id", "messageID", "sessionID"];
var part = (properties, memory, cuts) => {
  if (memory.stream)
    return properties;
  const kept = trimPart(asFields(properties.part), memory, cuts);
  return kept === undefined ? undefined : { ...pick(properties, ["sessionID", "time"]), part: kept };
};
function trimPart(source, memory, cuts) {
  switch (source.type) {
    case "step-start":
    case "step-finish":
    case "snapshot":
    case "patch":
    case "reasoning":
      return;
    case "text":
      return source.synthetic === true ? pick(source, [...IDS, "synthetic"]) : undefined;
    case "tool":
      return trimTool(source, memory, cuts);
    case "file":
      return pick(source, [...IDS, "mime", "filename"]);
    default:
      return source;
  }
}
function trimTool(source, memory, cuts) {
  const state = asFields(source.state);
  const kept = pick(source, [...IDS, "tool", "callID"]);
  const id = asText(source.id) ?? asText(source.callID) ?? "";
  switch (state.status) {
    case "pending":
      return;
    case "running":
      return hasNews(id, state, memory) ? { ...kept, state: trimRunning(state) } : undefined;
    case "completed":
      memory.running.delete(id);
      return { ...kept, state: trimState(state, ["status", "input", "title", "time"], COMPLETED) };
    case "error":
      memory.running.delete(id);
      return { ...kept, state: trimErrorState(state, cuts) };
    default:
      return source;
  }
}
var COMPLETED = ["sessionId", "exit", "truncated"];
function hasNews(id, state, memory) {
  const told = memory.running.get(id);
  const input = isFields(state.input) && Object.keys(state.input).length > 0;
  const child = asFields(state.metadata).sessionId !== undefined;
  if (told !== undefined && !(input && !told.input) && !(child && !told.child))
    return false;
  remember(memory.running, id, { input: input || told?.input === true, child: child || told?.child === true });
  return true;
}
function trimRunning(state) {
  return trimState(state, ["status", "input", "title", "time"], ["sessionId", "description"]);
}
function trimState(state, keys, metadataKeys) {
  const metadata = pick(asFields(state.metadata), metadataKeys);
  const kept = pick(state, keys);
  return Object.keys(metadata).length === 0 ? kept : { ...kept, metadata };
}
function trimErrorState(state, cuts) {
  if (typeof state.error !== "string" || state.error.length <= ERROR_STRING)
    return state;
  cuts.push("event.properties.part.state.error");
  return { ...state, error: clipText(state.error, ERROR_STRING) };
}

// plugin/src/table.ts
var drop = (why) => ({ verdict: "drop", why });
var state = (keep) => ({ verdict: "forward", plane: "state", keep });
var stream = (keep) => ({ verdict: "forward", plane: "stream", keep });
var BUS = new Map(Object.entries({
  "message.part.delta": drop("one for each token"),
  "plugin.added": drop("some 45 at the first prompt"),
  "catalog.updated": drop("start-up noise"),
  "reference.updated": drop("start-up noise"),
  "integration.updated": drop("start-up noise"),
  "session.diff": drop("the content of every changed file"),
  "session.created": state(session),
  "session.updated": state(session),
  "session.deleted": state(session),
  "session.status": state(status),
  "session.idle": state(whole),
  "session.error": state(failure),
  "session.compacted": state(whole),
  "message.updated": state(message),
  "message.part.updated": state(part),
  "message.removed": stream(whole),
  "message.part.removed": stream(whole),
  "permission.asked": state(ask),
  "permission.updated": state(ask),
  "permission.v2.asked": state(ask),
  "permission.replied": state(whole),
  "permission.v2.replied": state(whole),
  "question.asked": state(whole),
  "question.replied": state(whole),
  "question.rejected": state(whole),
  "question.v2.asked": state(whole),
  "question.v2.replied": state(whole),
  "question.v2.rejected": state(whole),
  "todo.updated": state(whole),
  "command.executed": state(whole),
  "file.edited": stream(whole),
  "file.watcher.updated": stream(whole),
  "vcs.branch.updated": stream(whole),
  "tui.toast.show": stream(whole),
  "server.instance.disposed": state(whole)
}));
var OTHER = stream(whole);
function trimMoment(hook, input, output, memory) {
  if (hook === "dispose")
    return { kind: "dispose" };
  if (!isFields(input))
    return;
  switch (hook) {
    case "event":
      return trimBusEvent(input, memory);
    case "tool.execute.before":
      return isToolInput(input) ? { kind: "tool.before", input, output: isFields(output) ? output : {} } : undefined;
    case "tool.execute.after":
      return isToolInput(input) ? { kind: "tool.after", input, output: output ?? {} } : undefined;
    case "chat.message":
      return { kind: "chat.message", input, output: asFields(output) };
    case "permission.ask":
      return trimAsk(input);
  }
}
function trimAsk(input) {
  const cut = [];
  const permission = boundMetadata(input, "permission", cut);
  return withCut({ kind: "permission.ask", permission }, cut);
}
function planeOf(hook, input) {
  if (hook !== "event")
    return "state";
  const { type, properties } = asFields(input);
  if (type === "message.part.updated" && asFields(asFields(properties).part).type !== "tool")
    return "stream";
  const row = BUS.get(`${type}`) ?? OTHER;
  return row.verdict === "forward" ? row.plane : "stream";
}
function isNoise(hook, input, memory) {
  if (hook !== "event" || memory.stream)
    return false;
  return BUS.get(`${asFields(input).type}`)?.verdict === "drop";
}
function trimBusEvent(event, memory) {
  const { id, type } = event;
  if (typeof type !== "string")
    return;
  const row = BUS.get(type) ?? OTHER;
  if (row.verdict === "drop" && !memory.stream)
    return;
  const { keep } = row.verdict === "forward" ? row : OTHER;
  const cut = [];
  const properties = keep(asFields(event.properties), memory, cut);
  if (properties === undefined)
    return;
  const told = typeof id === "string" ? { id, type, properties } : { type, properties };
  return withCut({ kind: "bus", event: told }, cut);
}
function withCut(body, cut) {
  return cut.length === 0 ? body : { ...body, cut };
}
function isToolInput(input) {
  return typeof input.tool === "string" && typeof input.sessionID === "string" && typeof input.callID === "string";
}

// plugin/src/flush.ts
function flush({ done, mostMs, silenceMs, onProgress }) {
  return new Promise((resolve) => {
    let cancelSilence;
    const finish = () => {
      cancelSilence?.();
      cancelMost();
      onProgress(() => {
        return;
      });
      resolve();
    };
    const listen = () => {
      cancelSilence?.();
      cancelSilence = after(silenceMs, finish, finish);
    };
    const cancelMost = after(mostMs, finish, finish);
    onProgress(listen);
    listen();
    done.then(finish, finish);
  });
}

// plugin/src/queue.ts
function createQueue(bounds) {
  const items = [];
  let bytes = 0;
  let streamed = 0;
  let pinned = 0;
  const removeAt = (index) => {
    const [item] = items.splice(index, 1);
    if (item === undefined)
      return;
    bytes -= item.bytes;
    if (item.plane === "stream")
      streamed -= 1;
    if (index < pinned)
      pinned -= 1;
    return item;
  };
  const victim = () => {
    if (streamed > 0) {
      const index = items.findIndex((item, at) => at >= pinned && item.plane === "stream");
      if (index >= 0)
        return index;
    }
    return Math.min(pinned, items.length - 1);
  };
  return {
    get size() {
      return items.length;
    },
    push(item) {
      items.push(item);
      bytes += item.bytes;
      if (item.plane === "stream")
        streamed += 1;
      const gone = [];
      while (items.length > bounds.items || bytes > bounds.bytes) {
        const dropped = removeAt(victim());
        if (dropped === undefined)
          break;
        gone.push(dropped);
      }
      return gone;
    },
    take(most, mostBytes) {
      let size = 0;
      let count = 0;
      for (const item of items) {
        if (count > 0 && (count >= most || size + item.bytes > mostBytes))
          break;
        size += item.bytes;
        count += 1;
      }
      pinned = count;
      return items.slice(0, count);
    },
    acknowledge(next) {
      while (items[0] !== undefined && items[0].n < next)
        removeAt(0);
    },
    dropFirst: () => removeAt(0),
    release() {
      pinned = 0;
    }
  };
}

// plugin/src/uplink.ts
var MOST_STRIKES = 3;
function createUplink(parts) {
  const { link, drops, pace, header, now, random } = parts;
  const queue = createQueue({ items: pace.queueItems, bytes: pace.queueBytes });
  const breaker = createBreaker(pace.backoffFirstMs, pace.backoffMostMs, random);
  let running;
  let retry;
  let heartbeat;
  let owed = false;
  let wasAway = false;
  let told;
  let closing = false;
  let batchItems = pace.batchItems;
  let strikes = 0;
  let sentAt;
  let roundTripMs = 0;
  let onProgress;
  const fault = () => drops.count("fault");
  const kick = () => {
    if (running === undefined && retry === undefined)
      running = Promise.resolve().then(pump);
  };
  const beat = () => {
    owed = true;
    kick();
  };
  async function pump() {
    try {
      while (queue.size > 0 || owed) {
        if (!await deliver())
          break;
      }
    } catch {
      fault();
      rest(false);
    } finally {
      running = undefined;
    }
  }
  async function deliver() {
    const items = queue.take(batchItems, pace.batchBytes);
    told ??= drops.snapshot();
    const body = writeBatch(header(), items, told);
    sentAt = now();
    let outcome = await link.send(body);
    if (outcome.kind === "unauthorized") {
      link.forget();
      outcome = await link.send(body);
    }
    roundTripMs = now() - sentAt;
    sentAt = undefined;
    queue.release();
    switch (outcome.kind) {
      case "accepted":
        return accept(outcome.next, items);
      case "refused":
        return split(items);
      case "absent":
        return rest(true);
      case "unauthorized":
      case "failed":
        return rest(false);
    }
  }
  function accept(next, items) {
    const first = items[0];
    const last = items.at(-1);
    if (first !== undefined && next <= first.n)
      return rest(false);
    if (last !== undefined)
      queue.acknowledge(Math.min(next, last.n + 1));
    drops.acknowledge(told);
    told = undefined;
    const again = wasAway || breaker.failures > 0;
    wasAway = false;
    breaker.succeed();
    batchItems = Math.min(pace.batchItems, batchItems * 2);
    strikes = 0;
    owed = false;
    heartbeat?.();
    if (!closing)
      heartbeat = after(pace.heartbeatMs, beat, fault);
    onProgress?.();
    if (!closing)
      parts.onAccepted?.(again);
    return true;
  }
  function split(items) {
    if (items.length === 0)
      return rest(false);
    batchItems = Math.ceil(items.length / 2);
    if (items.length > 1)
      return true;
    const lost = queue.dropFirst();
    if (lost !== undefined)
      drops.count(lost.kind);
    strikes += 1;
    return strikes < MOST_STRIKES ? true : rest(false);
  }
  function rest(hopeless) {
    const delayMs = breaker.fail(hopeless);
    link.forget();
    strikes = 0;
    const again = () => {
      retry = undefined;
      beat();
    };
    if (!closing)
      retry = after(delayMs, again, fault);
    return false;
  }
  return {
    get refusing() {
      return breaker.refusing;
    },
    push(item) {
      for (const lost of queue.push(item))
        drops.count(lost.kind);
      kick();
    },
    greet() {
      wasAway = true;
      beat();
    },
    async close() {
      closing = true;
      heartbeat?.();
      retry?.();
      retry = undefined;
      const hanging = sentAt !== undefined && now() - sentAt >= pace.flushSilenceMs;
      const healthy = breaker.failures === 0 && !hanging;
      let over = false;
      const drain = async () => {
        await running;
        if (queue.size === 0 || over)
          return;
        kick();
        await running;
      };
      await flush({
        done: drain(),
        mostMs: healthy ? pace.flushMostMs : pace.flushFailingMs,
        silenceMs: Math.max(pace.flushSilenceMs, Math.min(pace.flushMostMs, roundTripMs * 4)),
        onProgress: (note) => {
          onProgress = note;
        }
      });
      over = true;
      link.abandon();
    }
  };
}
function writeBatch(header, items, told) {
  const first = items[0]?.n ?? header.next;
  const dropped = told === undefined ? "" : `"dropped":${JSON.stringify(told)},`;
  const moments = items.map((item) => item.text).join(",");
  return `{"instance":${JSON.stringify(header.instance)},"first":${first},${dropped}"moments":[${moments}]}`;
}

// plugin/src/core.ts
var KINDS = {
  event: "event",
  "tool.execute.before": "tool.before",
  "tool.execute.after": "tool.after",
  "chat.message": "chat.message",
  "permission.ask": "permission.ask",
  dispose: "dispose"
};
function createCore(context, explicit, host, pace) {
  const instance = createInstance(context, host);
  const memory = createMemory(explicit.stream);
  const drops = createDrops();
  const asks = createAsks();
  const client = createClient(() => asFields(context).client, directoryOf(context), pace.callMs);
  let next = 0;
  const now = () => Date.now();
  const random = () => Math.random();
  const link = createLink(explicit, pace.requestMs, pace.pollMs);
  const uplink = createUplink({
    link,
    drops,
    pace,
    header: () => ({ instance, next }),
    onAccepted: (again) => {
      downlink.start();
      if (again)
        offerAgain();
    },
    now,
    random
  });
  const deliver = createDelivery({
    client,
    promptOf: (session) => memory.prompts.get(session),
    answer: createAnswering({ asks, client, holdOf: (ask) => holding.of(ask) }),
    report: (report) => push(deliveryOf(report), "delivery", "state"),
    drops
  });
  const downlink = createDownlink({
    ...{ link, drops, pace, instance: instance.id, deliver, now, random },
    onUnknown: () => uplink.greet()
  });
  const lookUp = createKin({
    client,
    isPlaced: asks.isPlaced,
    tell: (properties) => take("event", { type: "session.updated", properties }, undefined),
    drops
  });
  const push = (moment, kind, plane, at = now()) => {
    const n = next;
    next += 1;
    const { text, bytes } = writeMoment(moment, n, at);
    uplink.push({ n, text, bytes, kind, plane });
    return text;
  };
  const offerAgain = () => {
    for (const ask of asks.all) {
      if (ask.told === undefined)
        continue;
      const { n: _, at: __, ...moment } = JSON.parse(ask.told);
      push(moment, KINDS.event, "state");
    }
  };
  const follow = (hook, input) => {
    if (hook !== "event" || !isFields(input))
      return {};
    const seen = asks.see(input);
    if (seen.opened !== undefined)
      lookUp(seen.opened.session);
    return seen;
  };
  const holding = createHolding({
    asks,
    drops,
    pace,
    tell: (permission) => {
      lookUp(`${permission.sessionID}`);
      const moment = { ...trimAsk(permission), held: true };
      return push(moment, KINDS["permission.ask"], "state");
    }
  });
  const take = (hook, input, output) => {
    if (hook === "permission.ask" || isNoise(hook, input, memory))
      return;
    const at = now();
    const version = hook === "event" ? versionIn(input) : undefined;
    if (version !== undefined)
      instance.version = version;
    try {
      const { opened, by } = follow(hook, input);
      notePrompt(memory, hook, input, output);
      if (uplink.refusing) {
        next += 1;
        drops.count(kindOf(hook, input));
        if (opened === undefined)
          return;
      }
      const moment = trimMoment(hook, input, output, memory);
      if (moment === undefined)
        return;
      const tagged = by === undefined ? moment : { ...moment, by };
      if (uplink.refusing) {
        if (opened !== undefined)
          asks.keep(opened, writeMoment(tagged, 0, at).text);
        return;
      }
      const text = push(tagged, kindOf(hook, input), planeOf(hook, input), at);
      if (opened !== undefined)
        asks.keep(opened, text);
    } catch {
      drops.count(kindOf(hook, input));
    }
  };
  return {
    take,
    hold(input, output) {
      if (explicit.noHold || uplink.refusing || !downlink.answerable || !isFields(input))
        return;
      return holding.begin(input, output);
    },
    async end() {
      downlink.close();
      asks.voidAll();
      if (next === 0)
        return;
      push({ kind: "dispose" }, KINDS.dispose, "state");
      await uplink.close();
    }
  };
}
function deliveryOf({ request, status, decision }) {
  const told = { kind: "delivery", request, status };
  if (decision.kind === "cancel")
    return told;
  const { session, ask } = decision;
  return { ...told, session, ask, ..."by" in decision ? { by: decision.by } : {} };
}
function notePrompt({ prompts }, hook, input, output) {
  if (hook === "chat.message") {
    const session = asText(asFields(input).sessionID);
    const message = asText(asFields(asFields(output).message).id);
    if (session === undefined || message === undefined || prompts.has(session))
      return;
    remember(prompts, session, message);
  } else if (hook === "event") {
    const { type } = asFields(input);
    if (prompts.size === 0 || type !== "session.idle" && type !== "session.deleted")
      return;
    const { sessionID, info } = asFields(asFields(input).properties);
    prompts.delete(asText(sessionID) ?? asText(asFields(info).id) ?? "");
  }
}
function kindOf(hook, input) {
  return hook === "event" ? `${asFields(input).type}` : KINDS[hook];
}

// plugin/src/registry.ts
var KEY = Symbol.for("opencode-aep/speakers/1");
function slotOf(directory) {
  const found = Reflect.get(globalThis, KEY);
  const slots = found instanceof Map ? found : new Map;
  if (found !== slots)
    Reflect.defineProperty(globalThis, KEY, { value: slots });
  let slot = slots.get(directory);
  if (slot === undefined) {
    slot = { core: undefined, owners: new WeakMap };
    slots.set(directory, slot);
  }
  return slot;
}
function claim(slot, speaker, subject) {
  const owner = slot.owners.get(subject);
  if (owner === undefined)
    slot.owners.set(subject, speaker);
  return owner === undefined || owner === speaker;
}

// plugin/src/hooks.ts
function createHooks(slot, open) {
  const speaker = {};
  let spoke = false;
  let disposed = false;
  const speaking = (subject) => {
    if (!claim(slot, speaker, subject) || disposed)
      return;
    spoke = true;
    slot.core ??= open();
    return slot.core;
  };
  const end = async () => {
    if (!spoke)
      return;
    spoke = false;
    const { core } = slot;
    slot.core = undefined;
    await core?.end();
  };
  const observe = (hook) => async (input, output) => {
    try {
      if (isObject(input))
        speaking(input)?.take(hook, input, output);
    } catch {}
  };
  return {
    event: async (input) => {
      try {
        const event = asFields(input).event;
        if (!isObject(event))
          return;
        const { type, properties } = event;
        speaking(isObject(properties) ? properties : event)?.take("event", event, undefined);
        if (type === "server.instance.disposed")
          await end();
      } catch {}
    },
    "tool.execute.before": observe("tool.execute.before"),
    "tool.execute.after": observe("tool.execute.after"),
    "chat.message": observe("chat.message"),
    "permission.ask": async (input, output) => {
      let held;
      try {
        if (isObject(input))
          held = speaking(input)?.hold?.(input, output);
      } catch {}
      await held;
    },
    dispose: async () => {
      try {
        disposed = true;
        await end();
      } catch {}
    }
  };
}
function isObject(value) {
  return typeof value === "object" && value !== null;
}

// plugin/src/pace.ts
var PACE = {
  requestMs: 5000,
  pollMs: 35000,
  pollGapMs: 250,
  pollBackoffMs: 1000,
  callMs: 5000,
  holdMs: 15000,
  holdGraceMs: 5000,
  heartbeatMs: 15000,
  backoffFirstMs: 250,
  backoffMostMs: 30000,
  batchItems: 256,
  batchBytes: 512 * 1024,
  queueItems: 1e4,
  queueBytes: 8 * 1024 * 1024,
  flushMostMs: 1000,
  flushSilenceMs: 200,
  flushFailingMs: 25
};

// plugin/src/entry.ts
var OpencodeAep = async (context, options) => {
  try {
    const host = readHost();
    const explicit = readExplicit(options, host);
    if (explicit.off)
      return {};
    return createHooks(slotOf(directoryOf(context)), () => createCore(context, explicit, host, PACE));
  } catch {
    return {};
  }
};
export {
  OpencodeAep
};
