import { status } from '$lib/status.js'

export const fallback = ({ request }) => status(request)
