/**
 * The OpenAPI 3.1 document of the sending service, which `npm run docs:tables` writes to `openapi.json`: the send endpoint as
 * `paths`, the callbacks as `webhooks`.
 */
import { format } from 'prettier'
import { jsonSchemaOf, referenceTo, SCHEMAS, SEND_FIELDS } from './openapi-schemas.ts'

/** From the project's root. */
export const OPENAPI_FILE = 'docs/openapi.json'

const json = (...names: readonly string[]) => {
  const [schema, ...more] = names.map((name) => ({ $ref: referenceTo(name) }))
  return { 'application/json': { schema: more.length === 0 ? schema : { anyOf: [schema, ...more] } } }
}

/** Texts that the contract shows. Contract, service.md#authentication-errors, #send-failures. */
const UNKNOWN_PROJECT = 'Error. Unknown project.'
const NO_CREDITS = 'Error. Insufficient balance. Top up and try again.'

function errors(description: string, message: string) {
  const content = { ...json('SendError')['application/json'], example: { messageData: { message } } }
  return { description, content: { 'application/json': content } }
}

/** `components.responses`. */
const RESPONSES = {
  Accepted: { description: 'Accepted. The exact status: not shown.', content: json('SendAnswer') },
  UnknownProject: errors(
    'The key does not match the project, or the request names no project. Other errors may have this status, too.',
    UNKNOWN_PROJECT,
  ),
  Unauthenticated: { description: 'The request carries no key.', content: json('Unauthenticated') },
  ProjectNotFound: { description: 'The project does not exist.', content: json('ProjectNotFound') },
  Refused: errors(
    'Refused. The status of an unsupported number (12), an insufficient balance (22) and an exceeded volume limit (23): not shown.',
    NO_CREDITS,
  ),
}

/** The contract shows the HTTP status of authentication errors only. */
const ANSWERS = {
  '2XX': responseOf('Accepted'),
  '400': responseOf('UnknownProject'),
  '401': responseOf('Unauthenticated'),
  '404': responseOf('ProjectNotFound'),
  default: responseOf('Refused'),
}

function responseOf(name: keyof typeof RESPONSES) {
  return { $ref: `#/components/responses/${name}` }
}

const HEADER_KEY = { apiKeyInHeader: [] }
/** The key of a POST may be in its body instead, which OpenAPI cannot state as a security scheme. */
const HEADER_OR_BODY_KEY = [HEADER_KEY, {}]

const sendRequest = {
  post: {
    operationId: 'send',
    summary: 'Send a message',
    description: 'Send the key in the header `Authorization`, which keeps it out of logs, or as `apiKey` in the body.',
    security: HEADER_OR_BODY_KEY,
    requestBody: {
      required: true,
      content: { ...json('SendRequest'), 'application/x-www-form-urlencoded': json('SendRequest')['application/json'] },
    },
    responses: ANSWERS,
  },
  get: {
    operationId: 'sendByQuery',
    summary: 'Send a message by a query',
    description: 'Takes the fields as query parameters. The full list of parameters: not shown.',
    security: [HEADER_KEY, { apiKeyInQuery: [] }],
    parameters: Object.entries(SEND_FIELDS)
      // The security scheme describes the key.
      .filter(([name]) => name !== 'apiKey')
      .map(([name, field]) => {
        const { description, ...schema } = jsonSchemaOf(field)
        return { name, in: 'query', required: name === 'project', description, schema }
      }),
    responses: ANSWERS,
  },
}

/** Contract, service.md#callback-receiver, #delivery-rules. */
function callback(operationId: string, summary: string, ...bodies: readonly [string, ...string[]]) {
  return {
    post: {
      operationId,
      summary,
      description: 'Carries a signature in its header, an Auth Key in its body, or both. Either proof is sufficient.',
      security: [],
      parameters: [{ $ref: '#/components/parameters/Signature' }],
      requestBody: { required: true, content: json(...bodies) },
      responses: {
        '2XX': { description: 'Received.' },
        default: { description: 'Failed. The service logs it and does not send the callback again.' },
      },
    },
  }
}

/** The document. */
const OPENAPI = {
  openapi: '3.1.1',
  info: {
    title: 'Messaging service',
    version: 'v1',
    description:
      'Sends messages, and posts callbacks about them. The documentation of the service leaves parts open: “not shown” marks them, objects admit further fields, and texts admit further words. Made by `npm run docs:tables` of messaging-webhooks.',
  },
  servers: [
    { url: '/api', description: 'The base URL ends in `/api/v1/messaging`. Its host: not shown.' },
    { url: '/', description: 'The API host has `/v1/messaging`. Its name: not shown.' },
  ],
  paths: { '/v1/messaging': sendRequest },
  webhooks: {
    messageStatus: callback(
      'messageStatus',
      'A sent message changed its state',
      'SmsDeliveryReport',
      'ChatAppDeliveryReport',
    ),
    receivedMessage: callback(
      'receivedMessage',
      'A customer wrote to the shortcode or the chat-app number',
      'ReceivedMessage',
    ),
    payment: callback('payment', 'A mobile-money push, C2B or paybill transaction completed or failed', 'Payment'),
    subscription: callback(
      'subscription',
      'A customer subscribed to a premium service, unsubscribed, or was billed',
      'PremiumEvent',
    ),
  },
  components: {
    securitySchemes: {
      apiKeyInHeader: { type: 'http', scheme: 'bearer', description: 'The API key of the project. Recommended.' },
      apiKeyInQuery: { type: 'apiKey', in: 'query', name: 'apiKey', description: 'The API key of the project.' },
    },
    parameters: {
      Signature: {
        name: 'X-Service-Signature',
        in: 'header',
        description:
          '`t`: the time of signing, in Unix seconds; refuse a callback if it is more than 300 seconds from your clock. `v1`: HMAC-SHA256 in lowercase hexadecimal, keyed with the signing secret, over `t`, a period and the exact bytes of the body.',
        schema: { type: 'string', pattern: '^t=[0-9]+,v1=[0-9a-f]{64}$' },
      },
    },
    responses: RESPONSES,
    schemas: SCHEMAS,
  },
}

/** The content of `openapi.json`. */
export function openApiText(): Promise<string> {
  return format(JSON.stringify(OPENAPI), { parser: 'json', printWidth: 120 })
}
