/** Wires the emulator together, and nothing else. */
import { withDeadline } from '../clock.ts'
import { MessagingWebhooksError } from '../errors.ts'
import { messageOf } from './callbacks/outgoing.ts'
import { createSender } from './callbacks/sender.ts'
import { createControlApp } from './control/app.ts'
import { createJournal } from './journal.ts'
import { createLifecycle } from './lifecycle.ts'
import { listenOn, type Listening } from './listen.ts'
import {
  checkIdle,
  checkKeys,
  checkKind,
  checkOf,
  checkPatch,
  checkTrigger,
  resolveEmulatorOptions,
} from './options.ts'
import type { Channel } from './not-shown.ts'
import { createOtpLog } from './otp-log.ts'
import { createOutbox } from './outbox.ts'
import { createProjects } from './projects.ts'
import { drawUuid } from './random.ts'
import { createAccept } from './send/accept.ts'
import { createEndpoint } from './send/endpoint.ts'
import type { Activity, Emulator, EmulatorOptions } from './surface.ts'
import { createTimers } from './timers.ts'
import { TRIGGERS, triggerPayload } from './triggers.ts'

/** A send without callback URLs, or with a fault that drops its callback, is answered in the end. */
const LATEST_ANSWER_MS = 2_000

/**
 * Plays the sending service: takes sends, answers as the contract says, and posts the callbacks that follow. Nothing
 * listens until `listen`. Throws an `OptionsError` for an option that cannot work.
 */
export function createEmulator(options: EmulatorOptions = {}): Emulator {
  const { seed, clock, channels, network, faults, sendFaults, proofOf, keep, ca, ...resolved } =
    resolveEmulatorOptions(options)
  const projects = createProjects(resolved.projects, { seed, nowMs: () => clock.now() })
  const journal = createJournal({ seed, keep })
  const otpLog = createOtpLog(keep)
  const timers = createTimers(clock)
  const listeners = new Set<(activity: Activity) => void>()
  let listening: Promise<Listening> | undefined
  let closed = false
  let made = 0

  function tell(activity: Activity): void {
    for (const listener of listeners) {
      try {
        listener(activity)
      } catch {
        // What a listener does wrong is not the sender's fault.
      }
    }
  }

  function record(delivery: Extract<Activity, { type: 'delivery' }>['delivery']): void {
    journal.addDelivery(delivery)
    tell({ type: 'delivery', delivery })
  }

  function untilReported(messageIds: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      function end(): void {
        cancel()
        listeners.delete(listen)
        resolve()
      }
      function listen(activity: Activity): void {
        const messageId = activity.type === 'delivery' ? messageOf(activity.delivery.payload) : undefined
        if (messageId !== undefined && messageIds.includes(messageId)) end()
      }
      const cancel = clock.setTimer(end, LATEST_ANSWER_MS, true)
      listeners.add(listen)
    })
  }

  const sender = createSender({
    seed,
    faults,
    nowMs: () => clock.now(),
    timeoutMs: resolved.callbackTimeoutMs,
    onDelivery: record,
    ca,
  })
  const outbox = createOutbox({ sender, clock, proofOf, record, recordWithoutUrl: () => journal.addWithoutUrl() })
  const lifecycle = createLifecycle({
    seed,
    clock,
    network,
    projects,
    otpLog,
    timers,
    post: (project, kind, payload, key) => void outbox.post(projects.get(project), kind, payload, key),
  })
  const app = createEndpoint({
    clock,
    projects,
    channels,
    accept: createAccept({ seed, clock, network, lifecycle, otpLog }),
    record(send) {
      journal.addSend(send)
      tell({ type: 'send', send })
    },
    recordLost: () => journal.addLostRequest(),
    seed,
    faults: sendFaults,
    untilReported,
    isClosed: () => closed,
  })

  function open(): void {
    if (closed) throw new MessagingWebhooksError('emulator_closed')
  }

  /** Callbacks that no send leads to are named by how many there were before. */
  function nextKey(): string {
    made += 1
    return `made ${made}`
  }

  async function untilIdle(): Promise<true> {
    // What a timer posts may be under way when the last timer is over.
    await timers.idle()
    await outbox.idle()
    await timers.idle()
    return true
  }

  const controlled = {
    async idle(options) {
      const { deadlineMs } = checkIdle(options)
      return withDeadline<boolean>(clock, deadlineMs, untilIdle(), () => false)
    },
    report: () => journal.report(),
    sends: () => journal.sends(),
    deliveries: () => journal.deliveries(),
    otpLog: () => otpLog.list(),
    channels: () => channels.all(),
    projects: () => projects.all().map((project) => project.state()),
    keys: (of) => projects.get(checkOf(of, 'keys')).keys(),
    configure: (patch, of) => projects.get(checkOf(of, 'configure')).configure(checkPatch(patch)),
    rotateKeys: (pair, of) => projects.get(checkOf(of, 'rotateKeys')).rotate(checkKeys(pair, 'rotateKeys')),
    regenerateApiKey(apiKey, of) {
      const project = projects.get(checkOf(of, 'regenerateApiKey'))
      return project.regenerate(checkKeys({ apiKey }, 'regenerateApiKey').apiKey)
    },
    async trigger(name, fields = {}, whose) {
      checkTrigger(name)
      const project = checkOf(whose, 'trigger')
      open()
      const of = projects.get(project)
      const key = nextKey()
      const about = {
        project: of.state(),
        nameOf: (channel: Channel) => channels.nameOf(channel),
        id: drawUuid(seed, 'trigger', key),
        timestamp: Math.floor(clock.now() / 1_000),
      }
      return outbox.post(of, TRIGGERS[name].kind, triggerPayload(name, about, fields), key)
    },
    async callback(kind, payload, of) {
      checkKind(kind)
      const project = checkOf(of, 'callback')
      open()
      return outbox.post(projects.get(project), kind, payload, nextKey())
    },
  } satisfies Omit<Emulator, 'app' | 'controlApp' | 'listen' | 'close' | 'onActivity'>
  const controlApp = createControlApp(controlled, resolved.controlToken)

  return {
    ...controlled,
    app,
    controlApp,
    async listen(port = 0, host = '127.0.0.1') {
      open()
      if (listening !== undefined) throw new MessagingWebhooksError('emulator_listening')
      const starting = listenOn(port, host, app, controlApp)
      listening = starting
      // A port that cannot be had leaves the emulator as it was.
      starting.catch(() => (listening = undefined))
      const { url, port: picked } = await starting
      return { url, port: picked }
    },
    async close() {
      closed = true
      timers.close()
      const server = await listening?.catch(() => undefined)
      await Promise.all([server?.close(), sender.close()])
    },
    onActivity(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
