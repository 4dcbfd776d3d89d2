/** All answers. Contract, service.md#callback-receiver: any 2xx is a success, and the sender never retries. */

/** The answer to send as it is. A `connection` header is only for servers that own their connections. */
export interface CallbackAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Absent if the answer has no body. */
  readonly body: string | undefined
}

/** One row per answer, by the code in its body: its status, and when it is given. */
export const ANSWERS = {
  accepted: {
    status: 204,
    when: 'The callback was accepted, even if it is a duplicate, late or unrecognized.',
  },
  body_incomplete: { status: 400, when: 'The body ended before its announced length.' },
  not_authentic: { status: 401, when: 'The callback has no valid proof that this URL accepts.' },
  method_not_allowed: {
    status: 405,
    when: 'The method is not POST. The response has `Allow: POST`.',
  },
  body_too_slow: {
    status: 408,
    when: 'The body took longer than `bodyTimeoutMs`, or stalled while others waited for capacity.',
  },
  body_too_large: { status: 413, when: 'The body is larger than `maxBodyBytes`.' },
  content_encoding: {
    status: 415,
    when: 'The body is compressed, and has no valid proof over the bytes as sent.',
  },
  unavailable: {
    status: 503,
    when: 'The store could not accept the event, or the credentials function failed.',
  },
} as const

export type AnswerName = keyof typeof ANSWERS

/** The answers. They reveal nothing about what was expected. */
export const REPLIES: Readonly<Record<AnswerName, CallbackAnswer>> = {
  accepted: { status: 204, headers: {}, body: undefined },
  body_incomplete: refusal('body_incomplete', 'The body is shorter than announced.'),
  not_authentic: refusal('not_authentic', 'The request is not authentic.'),
  method_not_allowed: refusal('method_not_allowed', 'Only POST is allowed.', { allow: 'POST' }),
  body_too_slow: refusal('body_too_slow', 'The body arrived too slowly.'),
  body_too_large: refusal('body_too_large', 'The body is too large.'),
  content_encoding: refusal('content_encoding', 'Content encodings are not supported.'),
  unavailable: refusal('unavailable', 'Temporarily unavailable.'),
}

function refusal(name: AnswerName, message: string, headers: Readonly<Record<string, string>> = {}): CallbackAnswer {
  const body = JSON.stringify({ error: { code: name, message } })
  return {
    status: ANSWERS[name].status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      ...headers,
    },
    body,
  }
}
