/** The stages in sequence for one callback: bytes and headers in, an answer out. Knows no framework. */
import { namedProject, prove, type Proved } from './authenticity/authenticate.ts'
import { encodedBody, maskSecrets, readBody, readParsedBody, type ReadBody } from './authenticity/body.ts'
import type { CredentialsSource } from './authenticity/credentials.ts'
import type { NotProved } from './authenticity/explain.ts'
import type { ProofPolicy } from './authenticity/proof-table.ts'
import { readSignatureHeader } from './authenticity/signature.ts'
import { MessagingWebhooksError, RefusedError } from './errors.ts'
import type { CallbackKind } from './events.ts'
import type { Captured } from './http/capture.ts'
import { ANSWERS, answerOf, type Answer, type AnswerName } from './http/replies.ts'
import type { Inbox } from './inbox/inbox.ts'
import { newEvent, type NewEventOptions } from './inbox/new-event.ts'
import type { Admission, NewEvent } from './inbox/store.ts'

/** One POST, as far as the stages need it. */
interface Callback {
  readonly kind: CallbackKind | undefined
  readonly policy: ProofPolicy
  /** Every value of the signature header. */
  readonly signatures: readonly string[]
  readonly contentEncoding: string | undefined
  readonly captured: Captured
  readonly arrivedAtMs: number
}

type Receive = (callback: Callback) => Promise<Answer>

interface ReceiveOptions extends NewEventOptions {
  readonly credentials: CredentialsSource
  readonly toleranceSeconds: number
  readonly inbox: Pick<Inbox<object>, 'admit'>
  /** Something went wrong that the user must hear of. */
  readonly report: (error: MessagingWebhooksError) => void
  /** An event was admitted; what this returns is waited for before the answer. */
  readonly admitted: (event: NewEvent, admission: Admission) => Promise<void> | undefined
}

export function createReceive(options: ReceiveOptions): Receive {
  const { credentials, inbox, report, toleranceSeconds } = options

  function refuse(name: AnswerName, refused: Pick<NotProved, 'code' | 'detail'>, cause?: unknown): Answer {
    const answer = answerOf(name)
    report(new RefusedError(refused.code, answer.status, refused.detail, cause === undefined ? undefined : { cause }))
    return answer
  }

  async function authenticate(callback: Callback, body: ReadBody): Promise<Proved | NotProved> {
    const project = namedProject(body)
    if (project !== undefined && project.length > credentials.longestName)
      return { proved: false, code: 'project_name_too_long' }
    const found = credentials.pairsFor(project)
    const pairs = found instanceof Promise ? await found : found
    const inexact = callback.captured.kind === 'parsed' ? 'body_already_parsed' : undefined
    const header = readSignatureHeader(callback.signatures)
    const { policy, arrivedAtMs: nowMs } = callback
    return prove({ header, body, inexact, policy, toleranceSeconds, nowMs }, pairs, project)
  }

  async function receive(callback: Callback): Promise<Answer> {
    const { captured, kind, arrivedAtMs } = callback
    if (captured.kind === 'failed') {
      const { reason } = captured
      return refuse(reason === 'body_already_read' ? 'not_authentic' : reason, { code: reason })
    }
    const body = bodyOf(captured, callback.contentEncoding)
    if (body === undefined) return refuse('not_authentic', { code: 'body_already_parsed' })
    const proof = await authenticate(callback, body)
    if (!proof.proved) {
      if (body.problem === 'content_encoding') return refuse('content_encoding', { ...proof, code: 'content_encoding' })
      return refuse('not_authentic', proof)
    }
    if (captured.kind === 'parsed') report(new MessagingWebhooksError('body_already_parsed'))
    if (proof.ignored !== undefined) report(new MessagingWebhooksError('signature_ignored', proof.ignored))
    const masked = maskSecrets(body, proof.secrets)
    const event = newEvent(
      {
        kind,
        body: masked.body,
        masked: masked.bytes,
        proof: proof.proof,
        scope: credentials.byProject ? proof.project : undefined,
        project: proof.project,
        signedAt: proof.signedAt,
        arrivedAtMs,
      },
      options,
    )
    const admitted = inbox.admit(event)
    const admission = admitted instanceof Promise ? await admitted : admitted
    if (admission === 'full') return refuse('unavailable', { code: 'store_full' })
    const handled = options.admitted(event, admission)
    if (handled !== undefined) await handled
    return answerOf('taken')
  }

  return async (callback) => {
    try {
      return await receive(callback)
    } catch (error) {
      const { code, cause, message } = asOurs(error)
      const answer = answerOf('unavailable')
      report(new RefusedError(code, ANSWERS.unavailable.status, undefined, { cause: cause ?? message }))
      return answer
    }
  }
}

function bodyOf(
  captured: Exclude<Captured, { kind: 'failed' }>,
  contentEncoding: string | undefined,
): ReadBody | undefined {
  if (captured.kind === 'parsed') return readParsedBody(captured.value)
  const isPlain = contentEncoding === undefined || contentEncoding === '' || contentEncoding === 'identity'
  return !isPlain && !captured.decoded ? encodedBody(captured.bytes) : readBody(captured.bytes)
}

function asOurs(error: unknown): MessagingWebhooksError {
  if (error instanceof MessagingWebhooksError) return error
  return new MessagingWebhooksError('internal', undefined, { cause: error })
}
