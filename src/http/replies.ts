/** All answers. Contract, service.md#callback-receiver: any 2xx is a success, and the sender never retries. */

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** One row per answer: its status, the code in its body, and when it is given. */
export const ANSWERS = {
  taken: { status: 204, code: undefined, when: 'Taken: new, duplicate, late and unrecognized callbacks alike.' },
  body_incomplete: { status: 400, code: 'body_incomplete', when: 'The body ended before its announced length.' },
  not_authentic: { status: 401, code: 'not_authentic', when: 'No proof holds that the policy of this URL accepts.' },
  method_not_allowed: { status: 405, code: 'method_not_allowed', when: 'Not a POST; `Allow: POST` says so.' },
  body_too_slow: {
    status: 408,
    code: 'body_too_slow',
    when: 'The body took longer than `bodyTimeoutMs`, or all but stood still while others waited for room.',
  },
  body_too_large: { status: 413, code: 'body_too_large', when: 'The body is larger than `maxBodyBytes`.' },
  content_encoding: {
    status: 415,
    code: 'content_encoding',
    when: 'The body is compressed, and no proof holds over the bytes as sent.',
  },
  unavailable: {
    status: 503,
    code: 'unavailable',
    when: 'The store could not take it, or the credentials could not be looked up. The service does not send it again.',
  },
} as const

export type AnswerName = keyof typeof ANSWERS

/** The answers. They reveal nothing about what was expected. */
export const REPLIES: Readonly<Record<AnswerName, Answer>> = {
  taken: { status: 204, headers: {}, body: undefined },
  body_incomplete: refusal('body_incomplete', 'The body is shorter than announced.'),
  not_authentic: refusal('not_authentic', 'The request is not authentic.'),
  method_not_allowed: refusal('method_not_allowed', 'Only POST is allowed.', { allow: 'POST' }),
  body_too_slow: refusal('body_too_slow', 'The body arrived too slowly.'),
  body_too_large: refusal('body_too_large', 'The body is too large.'),
  content_encoding: refusal('content_encoding', 'Content encodings are not supported.'),
  unavailable: refusal('unavailable', 'Temporarily unavailable.'),
}

function refusal(name: AnswerName, message: string, headers: Readonly<Record<string, string>> = {}): Answer {
  const { status, code } = ANSWERS[name]
  const body = JSON.stringify({ error: { code, message } })
  return {
    status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      ...headers,
    },
    body,
  }
}
