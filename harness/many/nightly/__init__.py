"""The nightly series: experiments and matrices on several versions, compared with the last good night."""
