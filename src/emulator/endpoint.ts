/** The send endpoint. Contract, service.md#send-a-message, #authentication-errors, #send-failures. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { refusalBody, SMS, wrapped, type NamedChannel, type RefusalReason } from './channels.ts'
import { drawSendFault, type SendFaultName } from './faults.ts'
import { reply, type EmulatorApp } from './http.ts'
import type { Journal, RecipientEntry, SendRecord } from './journal.ts'
import { BAD_REQUEST_STATUS, NOTHING_ACCEPTED_STATUS, TEXTS } from './not-shown.ts'
import type { Project, Projects } from './projects.ts'
import type { EmulatorSettings } from './options.ts'
import { createCounter } from './random.ts'
import type { createAccept } from './lifecycle.ts'
import { fieldOf, readRequest, readSend, type Fields, type SendRequest } from './send-request.ts'

/** Contract, service.md#versioning: both paths are the same endpoint. */
const PATHS: readonly string[] = ['/api/v1/messaging', '/v1/messaging']

/** Texts of refusals by code. Contract, service.md#send-failures; two of the texts are ours. */
const REFUSALS: Readonly<Record<12 | 22 | 23, RefusalReason>> = {
  12: { topic: 'other', text: TEXTS.unsupported_number },
  22: { topic: 'balance', text: 'Error. Insufficient balance. Top up and try again.' },
  23: { topic: 'other', text: TEXTS.volume_limit },
}

interface EndpointParts {
  readonly projects: Projects
  readonly accept: ReturnType<typeof createAccept>
  readonly record: (send: SendRecord) => void
  readonly journal: Pick<Journal, 'addLostRequest'>
  /** Resolves when a callback of one of these messages has been answered, or after a timeout. */
  readonly untilReported: (messageIds: readonly string[]) => Promise<unknown>
  readonly isClosed: () => boolean
}

/** An answer, and the data about it for the journal. */
interface Answer {
  readonly status: number
  readonly body: object
  /** The channel's name. */
  readonly channel: string
  readonly project?: string
  readonly sender?: string
  readonly refusal?: string
  readonly recipients?: readonly RecipientEntry[]
}

export function createEndpoint(
  { clock, channels, seed, sendFaults: faults }: EmulatorSettings,
  { projects, accept, record, journal, untilReported, isClosed }: EndpointParts,
): EmulatorApp {
  const countSend = createCounter()

  /** Depends only on the recipient and the number of sends to it, so that no draw depends on other sends. */
  function faultOf(fields: Fields): SendFaultName | undefined {
    if (Object.keys(faults).length === 0) return undefined
    const name = JSON.stringify([fields['project'], fields['to']])
    return drawSendFault(faults, seed, `${name} ${countSend(name)}`)
  }

  function answerTo(fields: Fields, apiKey: string | undefined): Answer {
    const named = channels.find(fields['channel'])
    // An authentication error precedes the check of the channel, but needs an envelope.
    const { channel, name: channelName } = named ?? SMS
    const project = authenticate(fields, apiKey, projects)
    if ('message' in project) {
      const { status, message } = project
      const body = status === 401 ? { message } : wrapped(channel, { message })
      return { status, body, channel: channelName, refusal: message }
    }
    const { name, senderId } = project.state()
    if (named === undefined) {
      const names = Object.values(channels.names).join(', ')
      return invalid(SMS, name, { channel: [`The channel field must be one of ${names}.`] })
    }
    const send = readSend(named, fields)
    if ('errors' in send) return invalid(named, name, send.errors)
    const { recipients, messages, refusedWith } = accept(project, send)
    const about = { channel: channelName, project: name, sender: send.from ?? senderId, recipients }
    if (messages > 0 || refusedWith === undefined)
      return { ...about, status: 200, body: { ...wrapped(channel, { messages }), recipients } }
    const refusal = REFUSALS[refusedWith]
    const body = { ...refusalBody(channel, refusal), ...(recipients.length === 0 ? {} : { recipients }) }
    return { ...about, status: NOTHING_ACCEPTED_STATUS, body, refusal: refusal.text }
  }

  /** Also answers requests with unreadable fields: these name no project. Contract, service.md#authentication-errors. */
  function answerToRead(fields: SendRequest['fields'], apiKey: string | undefined): Answer {
    if (fields === 'too large') return refused(SMS, 413, { topic: 'fields', text: TEXTS.tooLarge })
    return answerTo(typeof fields === 'object' ? fields : {}, apiKey)
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { fields, apiKey } = await readRequest(request)
    // The client has disconnected.
    if (fields === 'aborted') return void response.destroy()
    const drawn = typeof fields === 'string' ? undefined : faultOf(fields)
    if (drawn === 'lostRequest') {
      journal.addLostRequest()
      return void request.socket.resetAndDestroy()
    }
    const { status, body, project, sender, channel, refusal, recipients = [] } = answerToRead(fields, apiKey)
    const fault = status === 200 && recipients.length > 0 ? drawn : undefined
    const reported = fault === 'lateAnswer' ? untilReported(recipients.map(({ messageId }) => messageId)) : undefined
    const httpStatus = fault === 'badGateway' ? BAD_GATEWAY_STATUS : status
    const { method = '' } = request
    record({ atMs: clock.now(), method, project, sender, channel, httpStatus, refusal, recipients, fault })
    // Drains the request: a client that is cut off while sending does not read its answer.
    if (fields === 'too large') request.resume()
    await reported
    if (fault === 'noAnswer') request.socket.resetAndDestroy()
    else if (fault === 'badGateway')
      response.writeHead(httpStatus, { 'content-type': 'text/html' }).end(BAD_GATEWAY_PAGE)
    else reply(response, status, body)
  }

  return (request, response, next) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    if (!PATHS.includes(path.replace(/\/+$/, ''))) {
      if (next === undefined) reply(response, 404, { message: 'Not found.' })
      else next()
    } else if (isClosed()) {
      response.shouldKeepAlive = false
      reply(response, 503, { message: 'The emulator is closed.' })
    } else if (request.method === 'POST' || request.method === 'GET') {
      answer(request, response).catch((error: unknown) => {
        if (next === undefined) reply(response, 500, { message: 'The emulator failed.' })
        else next(error)
      })
    } else {
      response.shouldKeepAlive = false
      reply(response, 405, { message: 'Method not allowed.' }, { allow: 'GET, POST' })
    }
  }
}

/** The project of the request, or the error. Names are compared exactly. */
function authenticate(
  fields: Fields,
  apiKey: string | undefined,
  projects: Projects,
): Project | { readonly status: 400 | 401 | 404; readonly message: string } {
  if (apiKey === undefined) return { status: 401, message: 'Unauthenticated.' }
  const name = fieldOf(fields, 'project')
  const isNamed = typeof name === 'string' && name !== ''
  const project = isNamed ? projects.find(name) : undefined
  if (isNamed && project === undefined) return { status: 404, message: 'Error. Project not found.' }
  return project?.keys().apiKey === apiKey ? project : { status: 400, message: 'Error. Unknown project.' }
}

function invalid(channel: NamedChannel, project: string, fields: NonNullable<RefusalReason['fields']>): Answer {
  const text = `${TEXTS.invalid} ${Object.values(fields)[0]?.[0] ?? ''}`.trim()
  return { ...refused(channel, BAD_REQUEST_STATUS, { topic: 'fields', text, fields }), project }
}

function refused({ channel, name }: NamedChannel, status: number, refusal: RefusalReason): Answer {
  return { status, body: refusalBody(channel, refusal), channel: name, refusal: refusal.text }
}

const BAD_GATEWAY_STATUS = 502
/** The page of a gateway that lost its upstream. */
const BAD_GATEWAY_PAGE = '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>'
