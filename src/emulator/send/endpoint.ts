/** The send endpoint. Contract, service.md#send-a-message, #send-failures. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../clock.ts'
import { SMS, type NamedChannel, type NamedChannels } from '../channel-names.ts'
import { authenticationBody, refusalBody, successBody, type Refusal } from '../channels.ts'
import type { RecipientEntry, SendRecord } from '../journal.ts'
import { drawSendFault, type SendFaultName, type SendFaultRates } from '../faults/send-faults.ts'
import type { Seed } from '../faults/draws.ts'
import { BAD_REQUEST_STATUS, NOTHING_ACCEPTED_STATUS, REFUSAL_WORDS, TEXTS } from '../not-shown.ts'
import type { Projects } from '../projects.ts'
import { reply } from '../reply.ts'
import type { EmulatorApp } from '../surface.ts'
import type { Accepted } from './accept.ts'
import { AUTHENTICATION_ERRORS, authenticate } from './authenticate.ts'
import { BAD_GATEWAY_STATUS, replyWithFault } from './faulty-reply.ts'
import { readRequest, type Fields } from './read-request.ts'
import { readSend, type Send } from './read-send.ts'
import type { Project } from '../projects.ts'

/** Contract, service.md#versioning: both paths are the same endpoint. */
const PATHS: readonly string[] = ['/api/v1/messaging', '/v1/messaging']

/** Contract, service.md#send-failures. */
const INSUFFICIENT_BALANCE = 'Error. Insufficient balance. Top up and try again.'

interface EndpointParts {
  readonly clock: Pick<Clock, 'now'>
  readonly projects: Projects
  readonly channels: NamedChannels
  readonly accept: (project: Project, send: Send) => Accepted
  readonly record: (send: SendRecord) => void
  readonly recordLost: () => void
  readonly seed: Seed
  readonly faults: SendFaultRates
  /** Resolves when a callback of one of these messages was answered, or none came in time. */
  readonly untilReported: (messageIds: readonly string[]) => Promise<unknown>
  readonly isClosed: () => boolean
}

/** An answer before it is written, with what the journal wants to know of it. */
interface Answer {
  readonly status: number
  readonly body: object
  /** By its name. */
  readonly channel: string
  readonly project?: string
  readonly refusal?: string
  readonly recipients?: readonly RecipientEntry[]
}

export function createEndpoint({
  clock,
  projects,
  channels,
  accept,
  record,
  recordLost,
  seed,
  faults,
  untilReported,
  isClosed,
}: EndpointParts): EmulatorApp {
  const sendsOf = new Map<string, number>()

  /** By whom a send is for and how many such there were, so that no draw depends on other sends. */
  function faultOf(fields: Fields): SendFaultName | undefined {
    if (Object.keys(faults).length === 0) return undefined
    const name = JSON.stringify([fields['project'], fields['to']])
    const nth = sendsOf.get(name) ?? 0
    sendsOf.set(name, nth + 1)
    return drawSendFault(faults, seed, `${name} ${nth}`)
  }

  function answerTo(fields: Fields, apiKey: string | undefined): Answer {
    const named = channels.find(fields['channel'])
    // An authentication error needs an envelope before the channel is known to be one.
    const { channel, name: channelName } = named ?? SMS
    const project = authenticate(fields, apiKey, projects)
    if (typeof project === 'string') {
      const { status, message } = AUTHENTICATION_ERRORS[project]
      const body = project === 'unauthenticated' ? { message } : authenticationBody(channel, message)
      return { status, body, channel: channelName, refusal: message }
    }
    const { name } = project.state()
    if (named === undefined) return invalid(SMS, name, { channel: [noSuchChannel()] })
    const send = readSend(named, fields)
    if ('errors' in send) return invalid(named, name, send.errors)
    const accepted = accept(project, send)
    const { recipients, messages, refusedWith } = accepted
    if (messages > 0 || refusedWith === undefined)
      return {
        status: 200,
        body: successBody(channel, messages, recipients),
        channel: channelName,
        project: name,
        recipients,
      }
    const refusal = refusalOf(refusedWith)
    const envelope = refusalBody(channel, refusal)
    return {
      status: NOTHING_ACCEPTED_STATUS,
      body: recipients.length === 0 ? envelope : { ...envelope, recipients },
      channel: channelName,
      project: name,
      recipients,
      refusal: refusal.text,
    }
  }

  function noSuchChannel(): string {
    return `The channel field names no channel; there are ${Object.values(channels.all()).flat().join(', ')}.`
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const read = await readRequest(request)
    // Nobody is left to be answered.
    if (read.kind === 'aborted') return void response.destroy()
    const drawn = read.kind === 'read' ? faultOf(read.fields) : undefined
    if (drawn === 'lostRequest') {
      recordLost()
      return void request.socket.resetAndDestroy()
    }
    const given =
      read.kind === 'read'
        ? answerTo(read.fields, read.apiKey)
        : read.kind === 'too large'
          ? unread(413, TEXTS.tooLarge)
          : read.apiKey === undefined
            ? answerTo({}, undefined)
            : unread(BAD_REQUEST_STATUS, TEXTS.unreadable)
    const recipients = given.recipients ?? []
    const fault = given.status === 200 && recipients.length > 0 ? drawn : undefined
    const reported = fault === 'lateAnswer' ? untilReported(recipients.map(({ messageId }) => messageId)) : undefined
    record({
      atMs: clock.now(),
      method: request.method ?? '',
      project: given.project,
      channel: given.channel,
      httpStatus: fault === 'badGateway' ? BAD_GATEWAY_STATUS : given.status,
      refusal: given.refusal,
      recipients,
      fault,
    })
    // A client that is cut off while it still sends does not read its answer.
    if (read.kind === 'too large') request.resume()
    if (fault === undefined) reply(response, given.status, given.body)
    else await replyWithFault(request, response, fault, { ...given, reported })
  }

  return (request, response, next) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    if (!PATHS.includes(path.replace(/\/+$/, ''))) {
      if (next === undefined) reply(response, 404, { message: 'Not found.' })
      else next()
    } else if (isClosed()) {
      reply(response, 503, { message: 'The emulator is closed.' }, { connection: 'close' })
    } else if (request.method === 'POST' || request.method === 'GET') {
      answer(request, response).catch((error: unknown) => {
        if (next === undefined) reply(response, 500, { message: 'The emulator failed.' })
        else next(error)
      })
    } else {
      reply(response, 405, { message: 'Method not allowed.' }, { allow: 'GET, POST', connection: 'close' })
    }
  }
}

function invalid(
  { channel, name }: NamedChannel,
  project: string,
  fields: Readonly<Record<string, readonly string[]>>,
): Answer {
  const first = Object.values(fields)[0]?.[0] ?? ''
  const text = `${TEXTS.invalid} ${first}`.trim()
  const body = refusalBody(channel, { topic: 'fields', word: REFUSAL_WORDS.fields, text, fields })
  return { status: BAD_REQUEST_STATUS, body, channel: name, project, refusal: text }
}

/** A request whose channel nobody can know is answered as SMS. */
function unread(status: number, text: string): Answer {
  return {
    status,
    body: refusalBody('sms', { topic: 'other', word: REFUSAL_WORDS.fields, text }),
    channel: 'sms',
    refusal: text,
  }
}

function refusalOf(code: 12 | 22 | 23): Refusal {
  const word = REFUSAL_WORDS.other
  if (code === 22) return { topic: 'balance', word, text: INSUFFICIENT_BALANCE }
  return { topic: 'other', word, text: code === 23 ? TEXTS.volume_limit : TEXTS.unsupported_number }
}
