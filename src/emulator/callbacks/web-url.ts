/** What a callback can be posted to, and what of it may be shown. */

/** The http or https URL that this text is; undefined for any other text. */
export function webUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) ? url : undefined
}

/** A URL without its user and password, which are nobody else's business. */
export function withoutCredentials(text: string): string {
  const url = webUrl(text)
  if (url === undefined) return '(no http or https URL)'
  url.username = ''
  url.password = ''
  return url.href
}
