"""The experiments of LeFevre, DeWitt & Ramakrishnan 2008, section 4."""
