/** The life of a message from acceptance to its last report. Contract, service.md#states-and-transitions. */
import { setMaxListeners } from 'node:events'
import type { CallbackKind } from '../public/events.ts'
import { pause } from '../runtime/clock.ts'
import type { EmulatorSettings } from './options.ts'
import { documentedOutcome, outcomeOf, type Message, type Outcome } from './outcomes.ts'
import { statusPayload } from './payloads.ts'
import type { Projects, Project } from './projects.ts'
import { draw, wholeNumber, createCounter, drawUuid } from './random.ts'
import { ROW_BY_CODE } from '../carriers/status-codes.ts'
import { isListed } from './channels.ts'
import type { OtpEntry, RecipientEntry } from './journal.ts'
import { CREDITS_A_PART, NUMBER_FORM, OTP_TYPE, type Channel } from './not-shown.ts'
import type { Send } from './send-request.ts'

/** Codes that refuse a recipient. Codes 15 to 21 never appear in an answer. */
const REFUSAL_CODES = [12, 22, 23] as const
type RefusalCode = (typeof REFUSAL_CODES)[number]

/**
 * Returns the function that decides for each recipient of a send: accepted, scheduled, queued or refused. Message ids derive
 * from the seed, the recipient and the number of sends to it.
 */
export function createAccept(
  settings: EmulatorSettings,
  lifecycle: Pick<Lifecycle, 'begin'>,
  logOtp: (entry: OtpEntry) => void,
) {
  const { seed, clock } = settings
  const countSend = createCounter()

  /** The reason for a refusal. Undefined if accepted, and then the credits are spent. */
  function refusalOf(project: Project, send: Send, to: readonly string[], parts: number): RefusalCode | undefined {
    if (!to.every((number) => NUMBER_FORM.test(number))) return 12
    const documented = to.map((number) => documentedOutcome(number, send.channel)?.answer ?? 11).find(isRefusal)
    if (documented !== undefined) return documented
    const cost = send.channel === 'airtime' ? send.amount : parts * CREDITS_A_PART
    return project.spend(cost * to.length, parts * to.length)
  }

  /** One entry per part, or a single one for a refusal. */
  function acceptOne(
    project: Project,
    { channel, channelName, from, type, scheduledForMs }: Send,
    given: string,
    parts: number,
    refusal: RefusalCode | undefined,
  ): readonly RecipientEntry[] {
    const to = given.replace(/^\+/, '')
    const { name, senderId } = project.state()
    const id = drawUuid(seed, 'message', name, to, countSend(`${name} ${to}`))
    const outcome = outcomeOf(settings, to, channel, id)
    const isScheduled = scheduledForMs !== undefined && scheduledForMs > clock.now()
    const code = refusal ?? (isScheduled ? 14 : outcome.answer)
    const status = ROW_BY_CODE.get(code)?.word ?? ''
    const entry = { messageId: id, to: given, status, statusCode: String(code), type }
    if (type === OTP_TYPE) {
      const timestamp = Math.floor(clock.now() / 1_000)
      logOtp({ timestamp, sender: from ?? senderId, recipient: given, messageId: id, deliveryState: status })
    }
    if (isRefusal(code)) return [{ ...entry, messagePart: 1 }]
    const message = { id, project: name, channel, channelName, to, type }
    return Array.from({ length: parts }, (_, index) => {
      const part = index + 1
      lifecycle.begin({ ...message, part, scheduledForMs: isScheduled ? scheduledForMs : undefined }, outcome)
      return { ...entry, messagePart: part }
    })
  }

  /**
   * `messages`: the number of accepted entries, including scheduled ones. `refusedWith`: the code of the first refused recipient,
   * or of a wholly refused send, which has no recipients.
   */
  return (project: Project, send: Send) => {
    const parts = partsOf(send.message)
    // Contract, service.md#states-and-transitions: a channel without codes for refused recipients refuses the whole send.
    const isByRecipient = REFUSAL_CODES.every((code) => isListed(code, send.channel))
    const whole = isByRecipient ? undefined : refusalOf(project, send, send.to, parts)
    if (whole !== undefined) {
      // The OTP log has the recipients of refused sends, too.
      for (const given of send.to) acceptOne(project, send, given, parts, whole)
      return { recipients: [], messages: 0, refusedWith: whole }
    }
    const recipients = send.to.flatMap((given) => {
      const refusal = isByRecipient ? refusalOf(project, send, [given], parts) : undefined
      return acceptOne(project, send, given, parts, refusal)
    })
    const refused = recipients.map(({ statusCode }) => Number(statusCode)).filter(isRefusal)
    return { recipients, messages: recipients.length - refused.length, refusedWith: refused[0] }
  }
}

function isRefusal(code: number): code is RefusalCode {
  return REFUSAL_CODES.some((refusal) => refusal === code)
}

/** The GSM alphabet. Each character takes one unit. */
const ONE = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
)
/** Its extension. Each character takes two units. */
const TWO = new Set('\f^{}\\[~]|€')

/** Number of message parts of a text, by GSM 03.38 and 03.40. Reports per part are our choice, see not-shown.ts. */
function partsOf(text: string): number {
  let units = 0
  for (const character of text) {
    // Another character: the whole text counts in UTF-16 units.
    if (!ONE.has(character) && !TWO.has(character)) return text.length <= 70 ? 1 : Math.ceil(text.length / 67)
    units += TWO.has(character) ? 2 : 1
  }
  return units <= 160 ? 1 : Math.ceil(units / 153)
}

type Lifecycle = ReturnType<typeof createLifecycle>

/** A clock may limit its timers, so longer ones are set in steps. */
const FURTHEST_MS = 86_400_000

interface LifecycleParts {
  /** Like the service, does not wait for the answer. */
  readonly post: (
    project: string,
    kind: CallbackKind,
    payload: Readonly<Record<string, unknown>>,
    key: string,
    channel: Channel,
  ) => void
  /** Gets the life of each message. */
  readonly track: (life: Promise<void>) => unknown
  /** Gets each new state of a message, in the word of its report. */
  readonly onState: (messageId: string, word: string) => void
}

export function createLifecycle(
  { seed, clock, network }: EmulatorSettings,
  projects: Projects,
  { post, track, onState }: LifecycleParts,
) {
  const closing = new AbortController()
  // Each message adds a listener; above ten, Node warns of a leak.
  setMaxListeners(0, closing.signal)
  const sleep = (delayMs: number): Promise<void> => pause(clock, delayMs, closing.signal)
  const isClosed = (): boolean => closing.signal.aborted

  function report(message: Message, outcome: Outcome, word: string, step: string): void {
    const project = projects.get(message.project).state()
    const timestamp = Math.floor(clock.now() / 1_000)
    const kind = message.channel.startsWith('premium') ? 'subscription' : 'status'
    const payload = statusPayload({ seed, network, message, outcome, project, word, timestamp })
    onState(message.id, word)
    post(message.project, kind, payload, `${message.id} ${message.part} ${step}`, message.channel)
  }

  /** The next step follows after this delay, regardless of the previous callback. */
  function delayOf({ id, part }: Message, step: string): number {
    const [least, most] = network.delayMs
    return wholeNumber(draw(seed, 'delay', id, part, step), least, most)
  }

  async function live(message: Message, outcome: Outcome): Promise<void> {
    const { type, scheduledForMs = 0 } = message
    for (let leftMs = scheduledForMs - clock.now(); leftMs > 0; leftMs = scheduledForMs - clock.now()) {
      if (isClosed()) return
      await sleep(Math.min(leftMs, FURTHEST_MS))
    }
    // Contract, service.md#what-the-service-does: transactional messages are routed on a priority queue.
    await sleep(type === OTP_TYPE ? network.delayMs[0] : delayOf(message, 'first'))
    for (let failures = 0; failures < (outcome.transientFailures ?? 0) && !isClosed(); failures += 1) {
      // Contract, service.md#what-the-service-does: transient failures of transactional sends are retried.
      if (type !== OTP_TYPE || failures >= network.retries) {
        report(message, outcome, 'network_failure', 'gave up')
        return
      }
      await sleep(network.retryDelayMs * 2 ** failures)
    }
    for (const [index, word] of outcome.reports.entries()) {
      if (index > 0) await sleep(delayOf(message, `${index - 1}`))
      if (isClosed()) return
      report(message, outcome, word, `${index} ${word}`)
    }
  }

  return {
    begin: (message: Message, outcome: Outcome): void => void track(live(message, outcome)),
    /** Ends every message at once, and those that begin later. */
    close: () => closing.abort(),
  }
}
