/**
 * An emulator of the service for local use.
 *
 * @module messaging-webhooks/emulator
 */
import '../runtime/supported-node.ts'
import http from 'node:http'
import { withLastResort, listenOn } from './http.ts'
import { checkName, checkOptions } from '../runtime/check-options.ts'
import { withDeadline } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { CALLBACK_KINDS, type CallbackKind } from '../public/events.ts'
import { messageOf, type Delivery } from './request.ts'
import { createSender } from './sender.ts'
import { createControlApp, type Controlled } from './control.ts'
import { createJournal, type OtpEntry } from './journal.ts'
import { createLifecycle, createAccept } from './lifecycle.ts'
import type { Channel } from './not-shown.ts'
import { openApiApp } from './openapi.ts'
import {
  idleSchema,
  apiKeySchema,
  ofProjectSchema,
  pairSchema,
  patchSchema,
  resolveEmulatorOptions,
  type EmulatorOptions,
} from './options.ts'
import { TRIGGER_NAMES, triggerPayload, TRIGGERS } from './payloads.ts'
import { createProjects, type Project } from './projects.ts'
import { drawUuid } from './random.ts'
import { createEndpoint } from './endpoint.ts'
import type { Activity, Emulator, OfProject } from './surface.ts'

export type { EmulatorApp } from './http.ts'
export type { Activity, Emulator, OfProject } from './surface.ts'
export { DEFAULT_NETWORK, type CallbackUrls, type EmulatorOptions, type NetworkProfile } from './options.ts'
export type { ChannelProofs, ProjectOptions, ProjectPatch } from './options.ts'
export type { Delivery, KeyPair } from './request.ts'
export type { ChannelNames } from './channels.ts'
export { CONTROL_ROUTES, type Controlled, type ControlRoute } from './control.ts'
export { FAULTS, FAULT_NAMES, type FaultName, type FaultRates } from './faults.ts'
export { SEND_FAULTS, SEND_FAULT_NAMES, type SendFaultName, type SendFaultRates } from './faults.ts'
export type { EmulatorReport, FaultCounts, OtpEntry, RecipientEntry, SendRecord } from './journal.ts'
export { CHANNELS, NOT_SHOWN, type Channel } from './not-shown.ts'
export { OUTCOMES, type AnswerCode, type Outcome } from './outcomes.ts'
export { TRIGGERS, TRIGGER_NAMES, type TriggerName } from './payloads.ts'
export type { ProjectKeys, ProjectState } from './projects.ts'
export type { Seed } from './random.ts'

/** Longest wait of the fault `lateAnswer` for a callback, which may have no URL or be dropped. */
const LATEST_ANSWER_MS = 2_000

/**
 * Emulates the service: accepts sends, answers according to the contract, and posts the resulting callbacks. Listens only after
 * `listen`. Throws an `OptionsError` for an invalid option.
 */
export function createEmulator(options: EmulatorOptions = {}): Emulator {
  const settings = resolveEmulatorOptions(options)
  const { seed, clock, channels } = settings
  const nowMs = (): number => clock.now()
  const projects = createProjects(settings.projects, settings.keySeed, nowMs)
  const journal = createJournal(seed, settings.keep)
  const listeners = new Set<(activity: Activity) => void>()
  let listening: ReturnType<typeof listenOn> | undefined
  let isClosed = false
  let made = 0

  function notify(activity: Activity): void {
    for (const listener of listeners) {
      try {
        listener(activity)
      } catch {
        // An error in a listener must not affect the sender.
      }
    }
  }

  function onActivity(listener: (activity: Activity) => void): () => void {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }

  function untilReported(messageIds: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      const stop = onActivity((activity) => {
        const messageId = activity.type === 'delivery' ? messageOf(activity.delivery.payload) : undefined
        if (messageId !== undefined && messageIds.includes(messageId)) end()
      })
      const cancel = clock.setTimer(end, LATEST_ANSWER_MS, true)
      function end(): void {
        cancel()
        stop()
        resolve()
      }
    })
  }

  const sender = createSender(settings, (delivery) => {
    journal.addDelivery(delivery)
    notify({ type: 'delivery', delivery })
  })

  /** Never rejects. `key` identifies the callback in this run. Contract, service.md#delivery-rules: nothing is retried. */
  async function post(
    project: Project,
    kind: CallbackKind,
    payload: Delivery['payload'],
    key: string,
    channel = channelOf(kind, payload),
  ) {
    const { name, enforceHttps, callbackUrls } = project.state()
    const url = callbackUrls[kind]
    const previous = project.previousPair()
    const about = { kind, project: name, proof: settings.proofOf(channel), previous, enforceHttps, payload, key }
    if (url !== undefined) return sender.send({ ...about, ...project.keys(), url })
    journal.addWithoutUrl()
    return []
  }

  /** The channel of a callback without a send: that of its kind, or the one that it names. */
  function channelOf(kind: CallbackKind, { channel }: Delivery['payload']): Channel | undefined {
    if (kind === 'subscription') return 'premium-subscription'
    return channel === undefined ? undefined : channels.find(channel)?.channel
  }

  /** Contract, service.md#what-the-service-does: every OTP send is logged. */
  function logOtp(entry: OtpEntry): void {
    journal.addOtp(entry)
    notify({ type: 'otp', entry })
  }

  const lifecycle = createLifecycle(settings, projects, {
    post: (project, kind, payload, key, channel) => void post(projects.get(project), kind, payload, key, channel),
    track: sender.track,
    onState(messageId, deliveryState) {
      const entry = journal.otp(messageId)
      if (entry !== undefined) logOtp({ ...entry, deliveryState })
    },
  })
  const app = createEndpoint(settings, {
    projects,
    accept: createAccept(settings, lifecycle, logOtp),
    record(send) {
      journal.addSend(send)
      notify({ type: 'send', send })
    },
    journal,
    untilReported,
    isClosed: () => isClosed,
  })

  function checkOpen(): void {
    if (isClosed) throw new MessagingWebhooksError('emulator_closed')
  }

  function projectOf(of: OfProject | undefined, where: string): Project {
    return projects.get(checkOptions(ofProjectSchema, of, where).project)
  }

  /** Numbers the callbacks without a send. */
  function nextKey(): string {
    made += 1
    return `made ${made}`
  }

  const controlled = {
    async idle(options) {
      const { deadlineMs } = checkOptions(idleSchema, options, 'idle')
      return withDeadline<boolean>(
        clock,
        deadlineMs,
        sender.idle().then(() => true),
        () => false,
      )
    },
    report: journal.report,
    sends: journal.sends,
    deliveries: journal.deliveries,
    otpLog: journal.otpLog,
    channels: () => channels.names,
    projects: () => projects.all().map((project) => project.shown()),
    keys: (of) => projectOf(of, 'keys').keys(),
    configure: (patch, of) => projectOf(of, 'configure').configure(checkOptions(patchSchema, patch, 'configure')),
    rotateKeys: (pair, of) => projectOf(of, 'rotateKeys').rotate(checkOptions(pairSchema, pair, 'rotateKeys')),
    regenerateApiKey: (apiKey, of) =>
      projectOf(of, 'regenerateApiKey').regenerate(checkOptions(apiKeySchema, { apiKey }, 'regenerateApiKey').apiKey),
    async trigger(name, fields = {}, of) {
      checkName('trigger', 'event', name, TRIGGER_NAMES)
      const project = projectOf(of, 'trigger')
      checkOpen()
      const key = nextKey()
      const about = {
        project: project.state(),
        channels: channels.names,
        id: drawUuid(seed, 'trigger', key),
        timestamp: Math.floor(nowMs() / 1_000),
      }
      return post(project, TRIGGERS[name].kind, triggerPayload(name, about, fields), key)
    },
    async callback(kind, payload, of) {
      checkName('callback', 'kind', kind, CALLBACK_KINDS)
      const project = projectOf(of, 'callback')
      checkOpen()
      return post(project, kind, payload, nextKey())
    },
  } satisfies Controlled
  const controlApp = createControlApp(controlled, settings.controlToken)

  const server = http.createServer(
    withLastResort((request, response) =>
      openApiApp(request, response, () => controlApp(request, response, () => app(request, response))),
    ),
  )

  return {
    ...controlled,
    app,
    async listen(port = 0, host = '127.0.0.1') {
      checkOpen()
      if (listening !== undefined) throw new MessagingWebhooksError('emulator_listening')
      listening = listenOn(server, port, host)
      // If the port is unavailable, `listen` may be called again.
      listening.catch(() => (listening = undefined))
      return listening
    },
    async close() {
      isClosed = true
      lifecycle.close()
      await listening?.catch(() => undefined)
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await Promise.all([closed, sender.close()])
    },
    onActivity,
  }
}
